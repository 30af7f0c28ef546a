import './byte-stream.ts'

export { passedOn } from './buffer-garbage.ts'
export { systemClock } from './clock.ts'
export { keepHeapSmall } from './heap.ts'
export { Agent, createServer, IncomingMessage, ServerResponse } from './http.ts'
export { systemIds } from './ids.ts'
export { systemRandomness } from './randomness.ts'
export { yieldToEventLoop } from './worker-threads.ts'
