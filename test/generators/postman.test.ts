import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { runIn } from '../package/user.ts'

const Item = z.looseObject({ name: z.string(), event: z.array(z.looseObject({})).default([]) })
const Domain = z.looseObject({ name: z.string(), item: z.array(Item) })
const Collection = z.looseObject({ item: z.tuple([z.object({ item: z.array(Domain) })], z.unknown()) })
const Order = z.object({ code: z.literal('2000'), data: z.object({ bizId: z.string() }) })

/** People read the code in their mail. */
function readCode(operationsUrl: string) {
  const exec = [
    `pm.sendRequest('${operationsUrl}/mail.json', (error, response) => {`,
    '  const mails = response.json()',
    "  const { text } = mails.find((mail) => mail.to === 'owner@demo.test')",
    "  pm.collectionVariables.set('code', /\\b\\d{6}\\b/.exec(text)[0])",
    '})',
  ]
  return { listen: 'prerequest', script: { type: 'text/javascript', exec } }
}

describe('portico openapi --format postman', () => {
  let folder: string
  let gateway: PorticoProcess

  /** With the sign-in, the list of wallets, and a transfer that is sent twice. */
  beforeAll(async () => {
    folder = await mkdtemp(join(inject('runFolder'), 'postman-'))
    // Its own gateway, because other tests read the last mail of the shared one.
    gateway = await startProcess({ PORTICO_DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'warn' })
    const variables = { PORT: new URL(gateway.url).port }
    const printed = await runIn(root, ['node', 'bin/portico.js', 'openapi', '--format', 'postman'], variables)
    expect(printed.code, printed.stderr).toBe(0)
    const collection = Collection.parse(JSON.parse(printed.stdout))
    const find = (domain: string, name: RegExp) =>
      collection.item[0].item.find((each) => each.name === domain)?.item.find((each) => name.test(each.name)) ??
      expect.fail(`${domain}: no ${name}`)
    const complete = find('auth', /^Complete a sign-in/)
    const transfer = find('transfers', /^Transfer funds/)
    const item = [
      find('auth', /^Start a sign-in/),
      find('auth', /^Mail a code/),
      { ...complete, event: [...complete.event, readCode(gateway.operationsUrl)] },
      find('wallets', /^List the wallets/),
      transfer,
      { ...transfer, name: 'Transfer again' },
    ]
    await writeFile(join(folder, 'collection.json'), JSON.stringify({ ...collection, item }))
  })
  afterAll(async () => {
    await gateway?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  /** Both transfers took effect. */
  const expectTwoOrders = (replies: unknown[]) => {
    const [first, second] = z.tuple([Order, Order]).parse(replies.slice(-2))
    expect(first.data.bizId).not.toBe(second.data.bizId)
  }

  test('newman: signs in, lists wallets, and a transfer that is sent twice is two orders', async () => {
    const reporter = ['--reporters', 'json', '--reporter-json-export', 'result.json']
    const ran = await runIn(folder, ['npx', '--yes', 'newman@6.2.2', 'run', 'collection.json', ...reporter])
    expect(ran.code, ran.stdout + ran.stderr).toBe(0)
    const Execution = z.object({
      response: z.object({ code: z.literal(200), stream: z.object({ data: z.array(z.int()) }) }),
    })
    const Result = z.object({ run: z.object({ executions: z.array(Execution), failures: z.tuple([]) }) })
    const { executions } = Result.parse(JSON.parse(await readFile(join(folder, 'result.json'), 'utf8'))).run
    expectTwoOrders(executions.map(({ response }) => JSON.parse(Buffer.from(response.stream.data).toString())))
  })

  test('Bruno: imports the collection, and a transfer that is sent twice is two orders', async () => {
    await writeFile(join(folder, 'package.json'), '{"private":true}')
    const install = ['npm', 'install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts', '@usebruno/cli@4.1.0']
    expect(await runIn(folder, install)).toMatchObject({ code: 0 })
    // The app imports a collection by the same two functions.
    const script = `
      const { postmanToBruno } = require('@usebruno/converters')
      const { createCollectionFromBrunoObject } = require('@usebruno/cli/src/utils/collection')
      require('node:fs').mkdirSync('bruno')
      postmanToBruno(require('./collection.json')).then(({ collection }) =>
        createCollectionFromBrunoObject(collection, 'bruno', { format: 'bru' }))`
    const imported = await runIn(folder, ['node', '-e', script])
    expect(imported, imported.stderr).toMatchObject({ code: 0 })
    const bru = ['node', '../node_modules/@usebruno/cli/bin/bru.js', 'run', '--sandbox', 'developer']
    const ran = await runIn(join(folder, 'bruno'), [...bru, '--reporter-json', '../bruno.json'])
    expect(ran.code, ran.stdout + ran.stderr).toBe(0)
    const Result = z.tuple([
      z.object({ results: z.array(z.object({ response: z.object({ status: z.literal(200), data: z.unknown() }) })) }),
    ])
    const [{ results }] = Result.parse(JSON.parse(await readFile(join(folder, 'bruno.json'), 'utf8')))
    expectTwoOrders(results.map(({ response }) => response.data))
  })
})
