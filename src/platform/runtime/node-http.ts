/**
 * node:http for modules that load at every start. An `import` of it reads all its properties. One of them, the getter of
 * WebSocket, loads Node's own undici, which takes about 30 ms. `getBuiltinModule` does not.
 */
import type * as http from 'node:http'
import { getBuiltinModule } from 'node:process'

export const { Agent, IncomingMessage, Server, ServerResponse } = getBuiltinModule('node:http')

export type Agent = http.Agent
export type IncomingMessage = http.IncomingMessage
export type ServerResponse<Request extends http.IncomingMessage = http.IncomingMessage> = http.ServerResponse<Request>
