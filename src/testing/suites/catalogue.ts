import { z } from 'zod'
import { createClient } from '../../client/index.ts'
import { type CodeTable, hasWorkspaces, type PortalMount, pathOn } from '../../kernel/index.ts'
import { accessCodes } from '../http.ts'
import type { Route } from '../routes.ts'
import type { Suite } from './suite.ts'

const Entries = z.record(z.string(), z.unknown())
const Document = z.object({ paths: z.record(z.string(), z.record(z.string(), Entries)) })

export function registerCatalogue(
  routes: readonly Route[],
  { runner, world }: Suite,
  { codes, contract, mount }: { codes: CodeTable; contract: readonly object[]; mount?: PortalMount },
): void {
  const { test, beforeAll, assertEqual } = runner
  let paths: z.output<typeof Document>['paths'] = {}
  beforeAll(async () => {
    paths = Document.parse(
      await (await fetch(`${world().gateway.url}/openapi.json${mount ? `?portal=${mount.portal}` : ''}`)).json(),
    ).paths
  })
  for (const { name, exportName, operation, chain, method } of routes)
    test(`${name} is in the OpenAPI document with its refusals, and in the typed client as ${exportName}`, async () => {
      const entry = paths[pathOn(chain, operation)]?.[method.toLowerCase()] ?? {}
      assertEqual(entry.summary, operation.summary)
      const statuses = Object.keys(Entries.parse(entry.responses ?? {}))
      const declared = operation.refuses.map((code) => codes[code]?.status).filter((status) => status !== undefined)
      const missing = declared.filter((status) => !statuses.includes(String(status)))
      assertEqual(missing, [], 'statuses of declared refusals')
      if (chain.perimeter === 'machine') return
      const portal = hasWorkspaces(chain.portal) ? 'CONSUMER' : 'SYSTEM'
      const client = createClient({
        baseUrl: world().gateway.url,
        portal,
        accessCode: accessCodes[portal],
        contract,
        ...(mount && { mount }),
      })
      assertEqual(exportName in client, operation.reply !== 'socket', `the client has ${exportName}`)
    })
}
