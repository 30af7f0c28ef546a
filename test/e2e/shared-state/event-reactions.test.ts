import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { runCli } from '../../harness/cli.ts'
import { type Extended, startExtended } from '../../harness/extended.ts'
import { type Answer, type Call, send } from '../../harness/http.ts'
import { inTopology, needsStore } from '../../harness/needs.ts'
import { outboxOf, signIn } from '../../harness/sign-in.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds
const echoes = { extensions: ['./test/harness/extensions/echoes/index.js'] }

describe('the reactions of an extension', needsStore(), () => {
  let deployment: Extended
  let owner: string
  const call = (method: string, path: string, options?: Call): Promise<Answer> =>
    send(deployment.gateways[0]?.url ?? '', method, path, options)
  const member = (method: string, path: string, options: Call = {}) =>
    call(method, `/web/v1/consumer${path}`, { token: owner, workspace, ...options })
  const transfer = async (remark: string): Promise<string> => {
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '0.01', currency: 'USD', remark }
    const done = await member('POST', '/transfer/command/create', { body })
    expect(done.status, done.text).toBe(200)
    return done.body.data.bizId
  }
  const echoesOf = async (order: string) => (await member('GET', `/echoes/${order}`)).body.data
  const eventOf = async (order: string) => {
    const { events } = (await member('GET', '/events?limit=500')).body.data
    return events.find(({ subject }: { subject: string }) => subject === order)
  }
  const output = () => deployment.processes.map((each) => each.output()).join('')

  beforeAll(async () => {
    deployment = await startExtended(echoes, { LOG_LEVEL: 'warn' })
    const [first] = deployment.gateways
    if (!first) throw new Error('no gateway')
    owner = (await signIn({ call, mailTo: outboxOf(first) })).accessToken
  })
  afterAll(() => deployment?.stop())

  test('transfer.completed: each event has one effect, with its id, in all processes together', async () => {
    const orders = await Promise.all(Array.from({ length: 12 }, () => transfer('in common')))
    for (const order of orders) {
      await expect.poll(() => echoesOf(order), { timeout: 10_000 }).toHaveLength(1)
      expect(await echoesOf(order)).toEqual([{ event: (await eventOf(order)).id, amount: '0.01' }])
    }
  })

  test('a reaction that fails: its effects roll back, it is retried, and delays no other', async () => {
    const order = await transfer('fail 1')
    await expect.poll(output, { timeout: 10_000 }).toContain('the echo is not ready')
    expect(await echoesOf(order)).toEqual([])
    const other = await transfer('in common')
    await expect.poll(() => echoesOf(other), { timeout: 10_000 }).toHaveLength(1)
    await expect.poll(() => echoesOf(order), { timeout: 10_000 }).toHaveLength(1)
  })

  test('/explain: each attempt at a reaction, by the id of the event or of its object', async () => {
    const order = await transfer('fail 1')
    await expect.poll(() => echoesOf(order), { timeout: 10_000 }).toHaveLength(1)
    // The process that serves the domain ran it.
    const { operationsUrl } = deployment.processes.at(-1) ?? {}
    const { id, type } = await eventOf(order)
    const common = { event: id, type, subject: order, domain: 'echoes' }
    for (const name of [id, order])
      expect(await (await fetch(`${operationsUrl}/explain/${name}`)).json()).toMatchObject([
        { ...common, attempt: 2, verdict: 'passed', internal: null },
        { ...common, attempt: 1, verdict: 'failed', internal: 'the echo is not ready' },
      ])
  })

  test('reactions that take long: delay no mail', inTopology('distributed'), async () => {
    await Promise.all([transfer('wait 8000'), transfer('wait 8000'), transfer('wait 8000')])
    const [first] = deployment.gateways
    if (!first) throw new Error('no gateway')
    const startedAt = performance.now()
    await signIn({ call, mailTo: outboxOf(first) })
    expect(performance.now() - startedAt).toBeLessThan(5_000)
  })

  test('config check and openapi list the reactions: exit code 0', inTopology('embedded'), async () => {
    const { code, err } = await runCli(['config', 'check'], echoes)
    expect([code, err]).toEqual([0, expect.stringContaining('index.js: echoes reacts to transfer.completed\n')])
    const { out } = await runCli(['openapi'], echoes)
    expect(JSON.parse(out)['x-portico'].reactions).toEqual({ 'transfer.completed': ['echoes'] })
  })
})
