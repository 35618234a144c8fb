/** Job files to start from. Their endpoints are the mock servers of `windrow mock`. */
export interface Example {
  id: string
  title: string
  text: string
}

export const EXAMPLES: readonly Example[] = [
  {
    id: 'capitals',
    title: 'Experiment',
    text: `# Asks a model for capitals. Start the mock model first: windrow mock model
# Import the rows: windrow datasets import examples/capitals/capitals.jsonl
kind: experiment
name: capitals
dataset: { name: capitals }
target:
  openai: { model: mock, base_url: "http://127.0.0.1:8099/v1", api_key: "\${env:OPENAI_API_KEY}" }
  prompt: "Capital of {{ country }}?"
evaluators:
  - exact: { expect: "{{ capital }}" }
concurrency: 32
`,
  },
  {
    id: 'gate',
    title: 'Experiment with quality gates',
    text: `kind: experiment
name: capitals-gate
dataset: { name: capitals }
target:
  openai: { model: mock, base_url: "http://127.0.0.1:8099/v1", api_key: "\${env:OPENAI_API_KEY}" }
  prompt: "Capital of {{ country }}?"
evaluators:
  - exact: { expect: "{{ capital }}" }
trials: 3
gates:
  - exact.mean >= 0.9
  - errors < 1%
  - latency.p90 < 2s
concurrency: 32
`,
  },
  {
    id: 'operation',
    title: 'Operation in waves',
    text: `# Start the mock Kafka Connect first: windrow mock connect --connectors 200
kind: operation
name: bulk-config
targets: { select: "orders-*" }
action:
  kafka-connect:
    url: http://127.0.0.1:8083/east
    do: change_config
    set: { tasks.max: "2" }
strategy:
  canary: 5
  wave: 25
  approval: after_first
  max_failed: 10
  on_failure: rollback
concurrency: 32
`,
  },
  {
    id: 'ingest',
    title: 'Ingest from an API',
    text: `# Start the mock API first: windrow mock source
kind: ingest
name: ingest-orders
source:
  rest:
    url: http://127.0.0.1:8098/records
    records: $.records
    pagination: { token: { param: page_token, next: $.next } }
    incremental: { param: since, field: id }
key: id
destination:
  sqlite: { path: orders.db }
`,
  },
]

/** The beginning of an experiment over an imported dataset. */
export function experimentOver(dataset: string): string {
  return `kind: experiment
name: ${dataset}-experiment
dataset: { name: ${dataset} }
target:
  openai: { model: gpt-5-mini, api_key: "\${env:OPENAI_API_KEY}" }
  prompt: ""
evaluators: []
`
}
