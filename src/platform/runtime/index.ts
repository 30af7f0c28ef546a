import './byte-stream.ts'

export { makeDirectory } from '../../database/embedded/data-directory.ts'
export { fetchText, parseJson, readUpTo } from '../http-client.ts'
export { setDeadline } from './deadline.ts'
export { Agent, IncomingMessage, Server, ServerResponse } from './node-http.ts'
export { countStreamedBytes, limitHeapGrowth, lowerWorkerPriority } from './process-tuning.ts'
export { systemClock, systemIds, systemRandomness } from './system.ts'
