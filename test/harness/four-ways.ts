import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { inject } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { startConfigured } from './configured.ts'
import { startExtended } from './extended.ts'
import { type LabelService, refuse, replyJson, startLabelService } from './label-service.ts'
import { type PorticoProcess, startCommand } from './process.ts'
import { root } from './settings.ts'
import { createStore } from './store.ts'

export interface Way {
  /** Two in the replicas topology. */
  gateways: readonly Pick<PorticoProcess, 'url' | 'operationsUrl'>[]
  stop(): Promise<void>
}

const extension = './test/harness/extensions/parcels/index.js'

function urlOf(file: string): string {
  return pathToFileURL(join(root, file)).href
}

async function withStore(start: (variables: Variables) => Promise<Way>): Promise<Way> {
  const store = await createStore()
  const way = await start(store.variables)
  return {
    ...way,
    stop: async () => {
      await way.stop()
      await store.remove()
    },
  }
}

async function startWay(start: () => Promise<PorticoProcess>, release: () => unknown = () => undefined): Promise<Way> {
  const gateways = await Promise.all(inject('topology') === 'distributed' ? [start(), start()] : [start()])
  return {
    gateways,
    stop: async () => {
      await Promise.all(gateways.map((each) => each.stop()))
      await release()
    },
  }
}

/** A program that passes the domain to `portico()`. */
async function startLibrary(variables: Variables): Promise<Way> {
  const folder = await mkdtemp(join(tmpdir(), 'portico-library-'))
  const file = join(folder, 'main.ts')
  await writeFile(
    file,
    `import { bankingDomains, portico } from '${urlOf('src/portico.ts')}'
    import { provideModules } from '${urlOf('src/extensions/modules.ts')}'
    provideModules()
    const { default: parcels } = await import('${urlOf(extension)}')
    await portico({ domains: [...bankingDomains, parcels] }).serve()`,
  )
  const start = () => startCommand([process.execPath, file], variables)
  return startWay(start, () => rm(folder, { recursive: true }))
}

const extra = { fullPan: '4242', name: 'a' }

const tricks: Record<string, (response: ServerResponse, reply: object) => void> = {
  undeclared: (response) => refuse(response, 409, 'STATE.CONFLICT'),
  lost: (response) => refuse(response, 409, 'PARCEL.LOST'),
  large: (response, reply) => replyJson(response, 200, { ...reply, note: 'x'.repeat(6_000_000) }),
  text: (response, reply) => replyJson(response, 200, { ...reply, weight: '7' }),
  fraction: (response, reply) => replyJson(response, 200, { ...reply, weight: 1.5 }),
  missing: (response, reply) => replyJson(response, 200, { ...reply, inner: {} }),
  deep: (response, reply) => replyText(response, `{"extra":${'['.repeat(1_000)}${']'.repeat(1_000)},${textOf(reply)}`),
  inexact: (response, reply) => replyText(response, `{"sizes":[{"cm":0},{"cm":1e400}],${textOf(reply)}`),
}

function replyText(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(text)
}

/** Without the opening brace. */
function textOf(reply: object): string {
  return JSON.stringify(reply).slice(1)
}

/** Like the handler of the extension, without any check. */
const replyParcel: LabelService['reply'] = ({ path, body }, response) => {
  const above = new URL(path, 'http://service').searchParams.get('above')
  if (above !== null) return replyJson(response, 200, { above: Number(above) })
  const { trick, weight, sizes } = Object(body)
  const inner = { pinHash: 'x', first: extra, items: [extra] }
  const reply = { bizId: randomUUID(), note: '', weight, sizes, inner, pinHash: 'x' }
  const play = tricks[trick]
  if (play) play(response, reply)
  else replyJson(response, 200, reply)
}

async function startDocument(variables: Variables): Promise<Way> {
  const service = await startLabelService()
  service.reply = replyParcel
  const configuration = { operations: ['test/harness/parcels.yaml'], backends: { parcels: { url: service.url } } }
  return startWay(() => startConfigured(variables, configuration), service.close)
}

/** In the distributed topology, `backends` places the extension in another process. */
async function startPlacement(): Promise<Way> {
  const { gateways, stop } = await startExtended({ extensions: [extension] })
  return { gateways, stop }
}

export const ways = {
  library: () => withStore(startLibrary),
  extension: () => withStore((variables) => startWay(() => startConfigured(variables, { extensions: [extension] }))),
  document: () => withStore(startDocument),
  placement: startPlacement,
} satisfies Record<string, () => Promise<Way>>
