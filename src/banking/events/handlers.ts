import type { EventReader } from '../../contract/events/readers.ts'
import { type Caller, createHandlerTable, type HandlerTable, type WorkspaceAccess } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { type FeedPorts, readFeed } from './feed.ts'
import { createStreams } from './stream.ts'

export function createHandlers(ports: FeedPorts): HandlerTable {
  const openStream = createStreams(ports)
  return createHandlerTable(contract, {
    listEvents: ({ query, workspace }) => readFeed(ports, workspace.id, query, memberOf(workspace)),
    streamEvents: (request) => openStream(request.workspace.id, request, memberOf(request.workspace)),
    streamAllEvents: (request) => openStream(null, request, operatorOf(request.caller)),
    listAllEvents: ({ query, caller }) => readFeed(ports, null, query, operatorOf(caller)),
  })
}

function memberOf({ permissions }: WorkspaceAccess): EventReader {
  return { audience: 'workspace', permissions }
}

function operatorOf({ permissions }: Caller): EventReader {
  return { audience: 'operators', permissions }
}
