export { systemClock } from './clock.ts'
export { systemIds } from './ids.ts'
export { systemRandomness } from './randomness.ts'
export { yieldToEventLoop } from './worker-threads.ts'
