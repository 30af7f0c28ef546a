/* The development profile serves this file as start.js. */
import { demoSignIn } from './demo.js'
import { showReference } from './reference.js'

showReference([demoSignIn])
