import { mount } from 'svelte'
import './app.css'
import App from './App.svelte'
import { loadFonts } from './fonts'
import { theme } from './shell/theme.svelte'

theme.apply()
loadFonts()
mount(App, { target: document.getElementById('app')! })
