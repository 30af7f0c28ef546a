import { memberReader, operatorReader } from '../../contract/events/readers.ts'
import { createHandlerTable, type HandlerTable } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { type FeedPorts, readFeed } from './feed.ts'
import { createStreams } from './stream.ts'

export function createHandlers(ports: FeedPorts): HandlerTable {
  const openStream = createStreams(ports)
  return createHandlerTable(contract, {
    listEvents: ({ query, workspace }) => readFeed(ports, workspace.id, query, memberReader(workspace)),
    streamEvents: (request) => openStream(request.workspace.id, request, memberReader(request.workspace)),
    streamAllEvents: (request) => openStream(null, request, operatorReader(request.caller)),
    listAllEvents: ({ query, caller }) => readFeed(ports, null, query, operatorReader(caller)),
  })
}
