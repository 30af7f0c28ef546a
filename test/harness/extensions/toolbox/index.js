/* Uses every port, in JavaScript: test/e2e/extension-ports.test.ts. */
import { Readable } from 'node:stream'
import { text as readAll } from 'node:stream/consumers'
import {
  addMs,
  auditContextOf,
  bizId,
  domain,
  enqueueJob,
  inWorkspace,
  notFound,
  Refusal,
  recordSuccess,
  sql,
  sqlMigration,
  toIso,
} from 'portico'
import { bizId as idSchema, member, money, operation, z } from 'portico/contract'

const Tool = z.object({
  bizId: idSchema,
  status: z.string(),
  attempts: z.int(),
  note: z.string(),
  createdAt: z.string(),
})
const inOwn = { ...member, workspace: 'required', permission: 'tool:use' }

const operations = {
  createTool: operation({
    id: 'toolbox.create',
    method: 'POST',
    path: '/tools',
    chains: ['consumer', 'api'],
    summary: 'Create a tool',
    policy: { ...money, workspace: 'required', permission: 'tool:use' },
    body: z.strictObject({ note: z.string().max(100) }),
    reply: z.object({ bizId: idSchema }),
    refuses: [],
  }),
  readTool: operation({
    id: 'toolbox.read',
    method: 'GET',
    path: '/tools/{tool_id}',
    chains: ['consumer'],
    summary: 'Read a tool',
    policy: inOwn,
    body: 'none',
    reply: Tool,
    refuses: ['RESOURCE.NOT_FOUND'],
  }),
  removeTool: operation({
    id: 'toolbox.remove',
    method: 'POST',
    path: '/tools/{tool_id}/remove',
    chains: ['consumer', 'api'],
    summary: 'Remove a tool',
    policy: { ...money, workspace: 'required', permission: 'tool:remove' },
    body: 'none',
    reply: z.object({ removed: z.boolean() }),
    refuses: ['RESOURCE.NOT_FOUND'],
  }),
  cacheText: operation({
    id: 'toolbox.cache',
    method: 'POST',
    path: '/tools/cache',
    chains: ['consumer'],
    summary: 'Store a text for a time',
    policy: inOwn,
    body: z.strictObject({ text: z.string(), ttlMs: z.int() }),
    reply: z.object({ before: z.string().nullable(), after: z.string().nullable(), count: z.int() }),
    refuses: [],
  }),
  spendLimit: operation({
    id: 'toolbox.spend',
    method: 'POST',
    path: '/tools/spend',
    chains: ['consumer'],
    summary: 'Spend a limit of the domain',
    policy: inOwn,
    body: 'none',
    reply: z.object({ remaining: z.int() }),
    refuses: ['TOOL.WORN'],
  }),
  rateTool: operation({
    id: 'toolbox.rate',
    method: 'GET',
    path: '/tools/rate',
    chains: ['consumer'],
    summary: 'Count towards a rate group of the domain',
    policy: { ...inOwn, rate: 'tools' },
    body: 'none',
    reply: z.object({ greeting: z.string() }),
    refuses: [],
  }),
}

const migrations = [
  sqlMigration('001-tools', [
    `CREATE TABLE tools (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      biz_id uuid NOT NULL,
      status text NOT NULL,
      attempts int NOT NULL DEFAULT 0,
      created_by uuid NOT NULL,
      created_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, biz_id)
    )`,
    // Processes that start at the same time overlap.
    'SELECT pg_sleep(0.5)',
  ]),
  sqlMigration('002-tools-by-id', ['CREATE INDEX tools_biz_id ON tools (biz_id)']),
]

const dayMs = 86_400_000
function areaOf(id) {
  return `tools/${id}`
}

export default domain({
  name: 'toolbox',
  summary: 'Tools of a workspace.',
  operations,
  permissions: { workspace: { tool: { actions: ['use', 'remove'], peopleOnly: ['remove'] } } },
  rateGroups: { tools: { account: { limit: 4, windowMs: 3_600_000 } } },
  codes: { 'TOOL.WORN': { status: 422 } },
  locales: new URL('./locales/', import.meta.url),
  mails: { directory: new URL('./mails/', import.meta.url), templates: { printed: ['tool', 'url'] } },
  uses: ['members'],
  ownerNotices: ['TOOL_MADE'],
  settings: z.strictObject({ maxSpends: z.int().min(1).default(2) }),
  migrations,
  needs: [
    'accounts',
    'blobs',
    'cache',
    'clock',
    'database',
    'ids',
    'limits',
    'logger',
    'mailer',
    'once',
    'signInUrl',
    'transaction',
    'words',
  ],
  create: ({
    accounts,
    blobs,
    cache,
    clock,
    database,
    ids,
    limits,
    logger,
    mailer,
    once,
    settings,
    signInUrl,
    transaction,
    use,
    words,
  }) => ({
    handlers: {
      createTool: async (request) => {
        const id = ids.next()
        await blobs.put(areaOf(id), Readable.from([request.body.note]))
        return once(request, async (tx) => {
          const { caller, workspace } = request
          const at = new Date(clock.now())
          await sql`INSERT INTO tools (workspace_biz_id, biz_id, status, created_by, created_at)
            VALUES (${workspace.id}, ${id}, 'NEW', ${caller.accountId}, ${at})`.execute(tx)
          await enqueueJob(tx, ids, { kind: 'toolbox.print', payload: { id }, at: clock.now() })
          // The note is the kind of the notice.
          const notice = { workspaceId: workspace.id, actorId: caller.accountId, about: id, at: clock.now() }
          if (request.body.note.startsWith('TOOL_'))
            await use('members').notices.queue(tx, { ...notice, kind: request.body.note })
          return { bizId: id }
        })
      },
      readTool: async ({ params, workspace }) => {
        const row = await database
          .selectFrom('tools')
          .select(['status', 'attempts', 'createdAt'])
          .where(inWorkspace(workspace.id))
          .where('bizId', '=', params.tool_id)
          .executeTakeFirst()
        const blob = await blobs.get(areaOf(params.tool_id))
        if (!row || !blob) throw notFound()
        return {
          bizId: params.tool_id,
          status: row.status,
          attempts: row.attempts,
          note: await readAll(blob),
          createdAt: toIso(row.createdAt),
        }
      },
      removeTool: async (request) => {
        const { params, workspace } = request
        const reply = await once(request, async (tx) => {
          const { numDeletedRows } = await tx
            .deleteFrom('tools')
            .where(inWorkspace(workspace.id))
            .where('bizId', '=', params.tool_id)
            .executeTakeFirst()
          if (numDeletedRows === 0n) throw notFound()
          await recordSuccess(tx, auditContextOf(request), { workspaceId: workspace.id, targetId: params.tool_id })
          return { removed: true }
        })
        await blobs.delete(areaOf(params.tool_id))
        return { removed: reply.removed && (await blobs.get(areaOf(params.tool_id))) === undefined }
      },
      cacheText: async ({ body, workspace }) => {
        const before = (await cache.get(workspace.id)) ?? null
        if (body.text === '') await cache.delete(workspace.id)
        else await cache.set(workspace.id, body.text, body.ttlMs)
        const { count } = await cache.increment(workspace.id, dayMs)
        return { before, after: (await cache.get(workspace.id)) ?? null, count }
      },
      spendLimit: async ({ workspace }) => {
        const rule = { limit: settings.maxSpends, windowMs: dayMs }
        const { allowed, remaining } = await limits.spend('uses', workspace.id, rule)
        if (!allowed) throw new Refusal('TOOL.WORN')
        return { remaining }
      },
      rateTool: async ({ locale }) => ({ greeting: words.text('toolbox.greeting', locale) }),
    },
    jobs: [
      {
        name: 'toolbox.print',
        attempts: 3,
        work: async ({ id }, { attempt }) => {
          await database.updateTable('tools').set({ attempts: attempt }).where('bizId', '=', id).execute()
          if (attempt === 1) throw new Error('the printer is out of paper')
          await transaction(async (tx) => {
            const printed = await tx
              .updateTable('tools')
              .set({ status: 'PRINTED' })
              .where('bizId', '=', id)
              .returning('createdBy')
              .executeTakeFirstOrThrow()
            const payload = { id, accountId: printed.createdBy }
            await enqueueJob(tx, ids, { kind: 'toolbox.tell', payload, at: addMs(clock.now(), 1) })
          })
          logger.info({ tool: id }, 'tool printed')
        },
      },
    ],
    gatewayJobs: [
      {
        name: 'toolbox.tell',
        attempts: 3,
        work: async ({ id, accountId }) => {
          const { email, locale } = await accounts.read('CONSUMER', bizId(accountId))
          const values = { tool: id, url: signInUrl('CONSUMER') }
          await mailer.send({ to: email, template: 'toolbox.printed', locale, values })
        },
      },
    ],
    onSandboxReset: async (tx, { workspaceId }) => {
      await tx.deleteFrom('tools').where(inWorkspace(workspaceId)).execute()
    },
  }),
})
