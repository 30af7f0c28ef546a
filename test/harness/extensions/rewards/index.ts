import { declaredBy, domain, recordChanges, sql, sqlMigration } from 'portico'
import { z } from 'portico/contract'
import * as contract from './contract.ts'

const Row = z.object({ biz_id: z.string(), workspace_biz_id: z.string(), transfer_biz_id: z.string(), points: z.int() })

export default domain({
  name: 'rewards',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  migrations: [
    sqlMigration('001-rewards', [
      `CREATE TABLE rewards (
         biz_id uuid PRIMARY KEY,
         workspace_biz_id uuid NOT NULL,
         transfer_biz_id uuid NOT NULL,
         points integer NOT NULL
       )`,
      ...recordChanges('rewards', ['points'], ['biz_id', 'workspace_biz_id', 'transfer_biz_id', 'points']),
    ]),
  ],
  on: {
    'transfer.completed': async ({ id, subject, workspacebizid, data }, { tx }) => {
      const points = Math.floor(Number(data.amount))
      await sql`INSERT INTO rewards VALUES (${id}, ${workspacebizid}, ${subject}, ${points})`.execute(tx)
    },
  },
  needs: ['events', 'transaction'],
  create: ({ events, transaction }) => ({
    handlers: {
      endSeason: ({ workspace }) =>
        transaction(async (tx) => {
          const { rows } = await sql<{ points: number }>`
            SELECT coalesce(sum(points), 0)::integer AS points FROM rewards WHERE workspace_biz_id = ${workspace.id}
          `.execute(tx)
          const points = rows[0]?.points ?? 0
          await events.record(tx, {
            type: 'reward.season_ended',
            subject: workspace.id,
            workspaceId: workspace.id,
            data: { points },
          })
          return { points }
        }),
    },
    events: [
      {
        source: 'rewards',
        toEvents: ({ old, new: row }) => {
          if (old !== null || row === null) return []
          const { biz_id, workspace_biz_id, transfer_biz_id, points } = Row.parse(row)
          return [
            {
              type: 'reward.granted',
              subject: biz_id,
              workspaceId: workspace_biz_id,
              forOperators: true,
              data: { bizId: biz_id, transferBizId: transfer_biz_id, points },
            },
          ]
        },
      },
    ],
  }),
})
