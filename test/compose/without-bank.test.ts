import { expect, test } from 'vitest'
import { startTestGateway } from '../../src/testing/start.ts'

test('domains: []: sign-in and registration work, and the store has no workspace and no house account', async () => {
  const gateway = await startTestGateway({ domains: [] })
  try {
    const owner = await gateway.signInConsumer('owner@demo.test')
    expect((await owner.listSessions()).length).toBeGreaterThan(0)
    const person = await gateway.signInPerson('operator@demo.test')
    expect((await person.operator.listSessions()).length).toBeGreaterThan(0)
    await expect(owner.listWallets()).rejects.toMatchObject({ code: 'ROUTE.NOT_FOUND' })
    for (const table of ['workspaces', 'ledger_accounts'] as const)
      expect(await gateway.database.selectFrom(table).selectAll().execute()).toEqual([])
  } finally {
    await gateway.stop()
  }
})
