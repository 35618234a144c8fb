/** The explanation of a run as a few words: `43 items wait for api.example: rate limited`. */
export function shorten(headline: string): string {
  const text = headline.replace(/\.$/, '').replace(/ · key \w+/, '').replace('The run is ', '')
  return text.length > 0 ? text : 'nothing'
}
