import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { type Extended, startExtended } from '../harness/extended.ts'
import { type Answer, type Call, send } from '../harness/http.ts'
import { root } from '../harness/settings.ts'
import { outboxOf, signIn } from '../harness/sign-in.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds
const guide = 'docs/guides/react-to-events.md'
const extension = 'test/harness/extensions/rewards'

const read = (file: string) => readFileSync(join(root, file), 'utf8')
const withoutIndent = (text: string) => text.replaceAll(/^ +/gm, '')
const snippets = [...read(guide).matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)]

test(`${guide}: each snippet is a part of the extension that this file runs`, () => {
  expect(snippets.length).toBeGreaterThan(3)
  expect(read(guide).match(/^```ts$/gm)).toHaveLength(snippets.length)
  for (const [, file, code = ''] of snippets)
    expect(withoutIndent(read(`${extension}/${file}`)), code).toContain(withoutIndent(code))
})

describe(guide, () => {
  let deployment: Extended
  let token: string
  const call = (method: string, path: string, options?: Call): Promise<Answer> =>
    send(deployment.gateways[0]?.url ?? '', method, path, options)
  const member = async (method: string, path: string, body?: object) => {
    const {
      status,
      text,
      body: reply,
    } = await call(method, `/web/v1/consumer${path}`, {
      token,
      workspace,
      ...(body && { body }),
    })
    expect(status, text).toBe(200)
    return reply.data
  }
  const ofType = async (type: string) => (await member('GET', `/events?type=${type}`)).events

  beforeAll(async () => {
    deployment = await startExtended({ extensions: [`./${extension}/index.ts`] }, { LOG_LEVEL: 'warn' })
    const [first] = deployment.gateways
    if (!first) throw new Error('no gateway')
    token = (await signIn({ call, mailTo: outboxOf(first) })).accessToken
  })
  afterAll(() => deployment?.stop())

  test('the reaction has its effect, whose trigger records the event of the extension', async () => {
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '12.50', currency: 'USD' }
    const { bizId } = await member('POST', '/transfer/command/create', body)
    await expect.poll(() => ofType('reward.granted'), { timeout: 10_000 }).toHaveLength(1)
    expect(await ofType('reward.granted')).toMatchObject([
      { workspacebizid: workspace, data: { transferBizId: bizId, points: 12 } },
    ])
  })

  test('the command records its event with the port', async () => {
    expect(await member('POST', '/rewards/end-season')).toEqual({ points: 12 })
    await expect.poll(() => ofType('reward.season_ended'), { timeout: 10_000 }).toHaveLength(1)
    expect(await ofType('reward.season_ended')).toMatchObject([{ subject: workspace, data: { points: 12 } }])
  })
})
