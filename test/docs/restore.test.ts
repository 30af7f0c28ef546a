import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertAuditEntry, sealAuditLog } from '../../src/platform/audit/index.ts'
import { systemClock } from '../../src/platform/runtime/index.ts'
import { needsPostgres } from '../harness/needs.ts'
import { copyDatabase, migratedDatabase, openServer, urlOf } from '../harness/prepared-postgres.ts'
import { root } from '../harness/settings.ts'
import { shellBlocks } from './shell-blocks.ts'

const original = await migratedDatabase()
const guide = shellBlocks().filter(({ file }) => file.endsWith('/backup-and-restore.md'))

let folder: string
let copy: Awaited<ReturnType<typeof copyDatabase>>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'portico-restore-'))
  if (original) copy = await copyDatabase(original.url, 'template0')
})
afterAll(async () => {
  await copy?.drop()
  await original?.drop()
  await rm(folder, { recursive: true, force: true })
})

test(
  'audit verify --head: finds that a copy restored as in the guide lacks the newest entries',
  needsPostgres(original),
  async () => {
    if (!original) return
    const source = original.url
    const target = urlOf(source, copy.name)
    await writeEntries(source, 3)
    const early = headIn((await run('portico audit verify', source)).out)
    await run('pg_dump', source)
    await writeEntries(source, 2)
    const late = headIn((await run('portico audit verify', source)).out)
    expect([early, late]).toEqual([expect.stringMatching(/^3:/), expect.stringMatching(/^5:/)])

    expect(await run('pg_restore', target)).toMatchObject({ code: 0 })
    const verified = await run('portico migrate', target, early)
    expect(verified, verified.err).toMatchObject({ code: 0 })
    expect(await run('portico migrate', target, late)).toMatchObject({
      code: 1,
      out: expect.stringContaining(`INCOMPLETE: the log ends at 3, but the head is 5\nhead: ${early}\n`),
    })
    // The restored deployment continues with other entries.
    await writeEntries(target, 4)
    expect(await run('portico migrate', target, late)).toMatchObject({
      code: 1,
      out: expect.stringContaining('REPLACED: entry 5 has another hash than the head\n'),
    })
  },
)

async function writeEntries(url: string, count: number): Promise<void> {
  const { database, close } = await openServer(url, 1)
  for (let number = 0; number < count; number++)
    await insertAuditEntry(database, {
      ...{ at: systemClock.now(), portal: 'SYSTEM', actorId: null, workspaceId: null, action: 'test.act' },
      ...{ targetId: null, outcome: 'SUCCESS', requestId: `${number}`, clientIp: '', detail: {} },
    })
  await sealAuditLog(database)
  await close()
}

/** Runs the block of the guide that begins with `begins`. */
function run(begins: string, url: string, head = ''): Promise<{ code: unknown; out: string; err: string }> {
  const script = guide.find((block) => block.script.trimStart().startsWith(begins))?.script ?? 'false'
  const portico = `portico() { ${process.execPath} ${join(root, 'bin/portico.js')} "$@"; }`
  const variables = { DATABASE_URL: url, AUDIT_HEAD: head, PORTICO_PROFILE: 'development', NODE_OPTIONS: '' }
  const env = { ...process.env, ...variables, PATH: `${dirname(process.execPath)}:${process.env.PATH}` }
  return new Promise((resolve) => {
    execFile('bash', ['-ec', `${portico}\n${script}`], { cwd: folder, env }, (error, out, err) =>
      resolve({ code: error ? error.code : 0, out, err }),
    )
  })
}

function headIn(output: string): string {
  return /^head: (\S+)$/m.exec(output)?.[1] ?? output
}
