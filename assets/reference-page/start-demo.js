/* The development profile serves this file as start.js. */
import { demoSignIn, edgeHeaders } from './demo.js'
import { showReference } from './reference.js'

showReference([demoSignIn], edgeHeaders)
