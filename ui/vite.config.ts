import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig, loadEnv } from 'vite'

const server = loadEnv('development', '.', 'WINDROW_').WINDROW_SERVER ?? 'http://127.0.0.1:7373'

export default defineConfig({
  plugins: [svelte()],
  build: {
    // The server's policy lets nothing be inline, and every browser that runs the app knows modulepreload.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
  },
  // `npm run dev` shows the pages of this folder with the data of a server on this machine.
  server: { proxy: { '/api': { target: server, changeOrigin: true, headers: { Origin: server } } } },
})
