import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { domain } from '../../src/api/domain.ts'
import { anonymous, member } from '../../src/contract/policies.ts'
import { bankingDomains } from '../../src/domains/index.ts'
import { operation } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { promises, startPortico, type TestPortico } from '../../src/testing/index.ts'

const contract = {
  greet: operation({
    id: 'greetings.greet',
    method: 'GET',
    path: '/greetings',
    chains: ['consumer'],
    summary: 'Read a greeting',
    policy: { ...member, workspace: 'required', permission: 'wallet:read' },
    body: 'none',
    reply: z.object({ text: z.string() }),
    refuses: [],
  }),
}

const greetings = domain({
  name: 'greetings',
  summary: 'Greetings.',
  operations: contract,
  create: () => ({ handlers: { greet: async () => ({ text: 'hello' }) } }),
})

describe('startPortico', () => {
  let portico: TestPortico<[typeof contract]>
  beforeAll(async () => {
    portico = await startPortico({ domains: [...bankingDomains, greetings], contract: [contract] })
  })
  afterAll(() => portico?.stop())

  test('has a signed-in typed client with the methods of the domain', async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const greeting = await owner.greet({ workspaceId: developmentIds.workspace })
    expect(greeting).toEqual({ text: 'hello' })
    expect(await owner.listWallets({ workspaceId: developmentIds.workspace })).toHaveLength(3)
  })

  test('signs operators in, and shows the mails of an address', async () => {
    const operator = await portico.signInOperator('operator@demo.test')
    expect((await operator.readProfile()).accountEmail).toBe('operator@demo.test')
    expect((await portico.mailTo('operator@demo.test')).text).toMatch(/\d{6}/)
  })

  test('rejects an invalid setting, and leaves nothing behind', async () => {
    await expect(startPortico({ settings: { colour: 'red' } })).rejects.toThrow('colour')
  })
})

/** Runs the tests that `promises` registers, without a test runner. Returns the names of those that fail. */
const failuresOf = async (domains: Parameters<typeof promises>[0]): Promise<string[]> => {
  const tests: [string, () => Promise<void>][] = []
  const before: (() => Promise<void>)[] = []
  const after: (() => Promise<void>)[] = []
  promises(domains, {
    describe: (_, define) => define(),
    test: (name, run) => void tests.push([name, run]),
    beforeAll: (run) => void before.push(run),
    afterAll: (run) => void after.push(run),
    expect,
  })
  for (const run of before) await run()
  const failed: string[] = []
  for (const [name, run] of tests) await run().catch(() => failed.push(name))
  for (const run of after) await run()
  return failed
}

describe('promises', () => {
  test('a domain that keeps them has no failure', async () => {
    expect(await failuresOf([greetings])).toEqual([])
  })

  test('a handler that declares a refusal and ignores unknown ids breaks a promise', async () => {
    const careless = domain({
      name: 'careless',
      summary: 'Careless.',
      operations: {
        readCareless: operation({
          id: 'careless.read',
          method: 'GET',
          path: '/careless/{id}',
          chains: ['consumer'],
          summary: 'Read anything',
          policy: { ...anonymous, caller: 'account', workspace: 'required', permission: null },
          body: 'none',
          reply: z.object({ text: z.string() }),
          refuses: ['RESOURCE.NOT_FOUND'],
        }),
      },
      create: () => ({ handlers: { readCareless: async () => ({ text: 'yours' }) } }),
    })
    expect(await failuresOf([careless])).toEqual(['careless.read: an unknown id is refused with a declared code'])
  })
})
