import { createHandlerTable, type HandlerTable } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { type FeedPorts, readFeed } from './feed.ts'
import { createStreams } from './stream.ts'

export function createHandlers(ports: FeedPorts): HandlerTable {
  const openStream = createStreams(ports)
  return createHandlerTable(contract, {
    listEvents: ({ query, workspace, caller }) => readFeed(ports, workspace.id, query, { workspace, caller }),
    streamEvents: (request) => openStream(request.workspace.id, request, request),
    streamAllEvents: (request) => openStream(null, request, { workspace: null, caller: request.caller }),
    listAllEvents: ({ query, caller }) => readFeed(ports, null, query, { workspace: null, caller }),
  })
}
