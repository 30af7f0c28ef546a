import { SocketReply } from '../../kernel/index.ts'
import type { Call, Stage } from '../pipeline/call.ts'
import type { OpenStreams } from '../pipeline/open-streams.ts'
import type { CheckCaller } from '../pipeline/stages/access-control.ts'
import { type RelayPorts, SocketRelay } from './relay.ts'

export interface SocketPorts extends RelayPorts {
  streams: OpenStreams
  checkCaller: CheckCaller
}

/** Counts a WebSocket before the service is contacted. */
export function relaySocketsStage(ports: SocketPorts, dispatch: Stage): Stage {
  return (call) => (call.handshake ? openSocket(ports, call, dispatch) : dispatch(call))
}

async function openSocket(ports: SocketPorts, call: Call, dispatch: Stage) {
  const { streams, checkCaller } = ports
  const stream = streams.open(call, { checkCaller, close: () => call.relay?.close(call.streamEnd ?? 'service') })
  try {
    await dispatch(call)
    if (!(call.reply instanceof SocketReply)) throw new TypeError('a handshake needs a WebSocket')
  } catch (error) {
    stream.release(call.client.isGone ? 'client' : 'service')
    throw error
  }
  call.relay = new SocketRelay(call, call.reply, stream, ports)
  // The stream can have ended during the handshake.
  if (call.streamEnd !== null) call.relay.close(call.streamEnd)
}
