import { showReference } from './reference.js'

showReference([])
