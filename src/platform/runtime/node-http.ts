/**
 * node:http, for what is loaded at every start. To import it as a module reads each of its properties, among them the
 * getter of its WebSocket, which loads Node's own undici with it: some 30 ms. To require it, as here, does not.
 */
import type * as http from 'node:http'
import { getBuiltinModule } from 'node:process'

export const { Agent, IncomingMessage, Server, ServerResponse } = getBuiltinModule('node:http')

export type Agent = http.Agent
export type IncomingMessage = http.IncomingMessage
export type ServerResponse<Request extends http.IncomingMessage = http.IncomingMessage> = http.ServerResponse<Request>
