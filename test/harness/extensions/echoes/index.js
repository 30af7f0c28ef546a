/* Reacts to transfers, in JavaScript: test/e2e/shared-state/event-reactions.test.ts and test/faults/events.test.ts. */
import { setTimeout as pause } from 'node:timers/promises'
import { domain, sql, sqlMigration } from 'portico'
import { member, operation, z } from 'portico/contract'

/** How often a reaction to a transfer has failed in this process. */
const failures = new Map()

const operations = {
  listEchoes: operation({
    id: 'echoes.list',
    method: 'GET',
    path: '/echoes/{order}',
    chains: ['consumer'],
    summary: 'List the reactions to an order',
    policy: { ...member, workspace: 'required', permission: 'transfer:read' },
    params: { order: z.uuid() },
    body: 'none',
    reply: z.array(z.object({ event: z.string(), amount: z.string() })),
    refuses: [],
  }),
}

export default domain({
  name: 'echoes',
  summary: 'Echoes of transfers.',
  operations,
  migrations: [
    // No unique index: a second effect would be a second row.
    sqlMigration('001-echoes', [
      'CREATE TABLE echoes (order_biz_id uuid NOT NULL, event text NOT NULL, amount text NOT NULL)',
    ]),
  ],
  on: {
    'transfer.completed': async ({ id, subject, data: { remark, amount } }, { tx }) => {
      await sql`INSERT INTO echoes (order_biz_id, event, amount) VALUES (${subject}, ${id}, ${amount})`.execute(tx)
      const [, kind, text = '0'] = /^(fail|wait) (\d+)$/.exec(remark ?? '') ?? []
      const failed = failures.get(id) ?? 0
      failures.set(id, failed + 1)
      if (kind === 'fail' && failed < Number(text)) throw new Error('the echo is not ready')
      if (kind === 'wait') await pause(Number(text))
    },
  },

  needs: ['database'],
  create: ({ database }) => ({
    handlers: {
      listEchoes: async ({ params }) =>
        (await sql`SELECT event, amount FROM echoes WHERE order_biz_id = ${params.order}`.execute(database)).rows,
    },
  }),
})
