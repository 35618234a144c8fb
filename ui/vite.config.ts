import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [svelte()],
  build: {
    // The server's policy lets nothing be inline, and every browser that runs the app knows modulepreload.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
  },
  // `npm run dev` shows the pages of this folder with the data of a `windrow serve` on this machine.
  server: { proxy: { '/api': { target: 'http://127.0.0.1:7373', changeOrigin: true, headers: { Origin: 'http://127.0.0.1:7373' } } } },
})
