import { createHandlerTable, type HandlerTable } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { type FeedPorts, readFeed } from './feed.ts'

export function createHandlers(ports: FeedPorts): HandlerTable {
  return createHandlerTable(contract, {
    listEvents: ({ query, workspace, caller }) => readFeed(ports, workspace.id, query, { workspace, caller }),
    listAllEvents: ({ query, caller }) => readFeed(ports, null, query, { workspace: null, caller }),
  })
}
