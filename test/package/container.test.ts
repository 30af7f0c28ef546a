import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, chown, copyFile, cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { send } from '../harness/http.ts'
import { type PorticoProcess, startCommand } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { signInAt } from '../harness/sign-in.ts'
import { writeDomain } from './domain.ts'

/** Only root can start a process as the user of the image. */
const user = 10_001
const isRoot = process.getuid?.() === 0

function stageOf(text: string): string {
  return (
    text
      .replaceAll('\\\n', ' ')
      .split(/^(?=FROM )/m)
      .at(-1) ?? ''
  )
}
const image = stageOf(readFileSync(join(root, 'Dockerfile'), 'utf8'))
const guide = readFileSync(join(root, 'docs/guides/extend-the-image.md'), 'utf8')
function blockOf(language: string): string {
  return new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(guide)?.[1] ?? ''
}
const extended = stageOf(blockOf('dockerfile'))

function copiesOf(stage: string): { from: string | undefined; source: string; target: string }[] {
  return [...stage.matchAll(/^COPY (?:--from=(\w+) )?(\S+) (\S+)$/gm)].map(([, from, source = '', target = '']) => ({
    from,
    source,
    target: join('/app', target.replace(/^\/app/, ''), target.endsWith('/') ? source : ''),
  }))
}
function variablesOf(stage: string): [string, string][] {
  return [...stage.matchAll(/^ENV (.*)$/gm)].flatMap(([, pairs = '']) =>
    pairs.split(/\s+/).map((pair): [string, string] => [pair.split('=')[0] ?? '', pair.split('=')[1] ?? '']),
  )
}
function commandOf(stage: string): string[] {
  return ['ENTRYPOINT', 'CMD'].flatMap((key) => JSON.parse(new RegExp(`^${key} (.*)$`, 'm').exec(stage)?.[1] ?? '[]'))
}

/*
 * Like test:image, but without a container engine: the files of image and guide, read-only, and Node as the only
 * program.
 */
describe('docs/guides/extend-the-image.md', () => {
  let folder: string
  let gateway: PorticoProcess
  let before: string[]
  const filesOf = async () => (await readdir(join(folder, 'app'), { recursive: true })).sort()

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-image-'))
    await chmod(folder, 0o755)
    const { production } = inject('package')
    for (const { from, source, target } of copiesOf(image)) {
      await mkdir(dirname(join(folder, target)), { recursive: true })
      if (from !== 'dependencies') {
        const inPackage = source.replace(/^\/app\//, '')
        await cp(join(production, 'node_modules/portico', inPackage), join(folder, target), { recursive: true })
        continue
      }
      execFileSync('cp', ['-al', join(production, 'node_modules'), join(folder, target)])
      for (const name of ['portico', 'typescript', '@typescript'])
        await rm(join(folder, target, name), { recursive: true, force: true })
    }
    const context = join(folder, 'context')
    await cp(join(root, 'examples/loans'), join(context, 'extensions/loans'), {
      recursive: true,
      filter: (source) => !source.includes('node_modules'),
    })
    await writeDomain(join(context, 'extensions'), 'apples')
    const settings = blockOf('yaml').replace('extensions: [', 'extensions: [./extensions/apples.js, ')
    await writeFile(join(context, 'portico.yaml'), settings)
    for (const { source, target } of copiesOf(extended))
      await cp(join(context, source), join(folder, target), { recursive: true })
    await mkdir(join(folder, 'bin'))
    await copyFile(process.execPath, join(folder, 'bin/node'))
    await mkdir(join(folder, 'data'))
    if (isRoot) await chown(join(folder, 'data'), user, user)
    execFileSync('chmod', ['-R', 'a-w,a+rX', join(folder, 'app')])
    before = await filesOf()

    const variables = Object.fromEntries([...variablesOf(image), ...variablesOf(extended)])
    const inFolder = (path: string) => path.replace(/^\/(?=app|data)/, `${folder}/`)
    gateway = await startCommand(
      commandOf(image),
      { PORTICO_PROFILE: 'development', LOG_LEVEL: 'warn', HOST: '127.0.0.1' },
      {
        cwd: join(folder, 'app'),
        env: {
          PATH: join(folder, 'bin'),
          ...Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, inFolder(value)])),
        },
        ...(isRoot && { uid: user }),
      },
    )
  })
  afterAll(async () => {
    await gateway?.stop()
    execFileSync('chmod', ['-R', 'u+w', folder])
    await rm(folder, { recursive: true, force: true })
  })

  test('the image starts with extensions in TypeScript and JavaScript, as its user and without a compiler', async () => {
    const { accessToken: token } = await signInAt(gateway)
    const get = (path: string) =>
      send(gateway.url, 'GET', `/web/v1/consumer${path}`, { token, workspace: developmentIds.workspace })
    const loans = await get('/loans')
    expect([loans.status, loans.body.data], loans.text).toEqual([200, []])
    const apples = await get('/apples?refuse=no')
    expect([apples.status, apples.body.data], apples.text).toEqual([200, ['apples']])
    expect((await get('/apples?refuse=yes')).body.code).toBe('STATE.CONFLICT')
  })

  test('the image writes nothing but its data, and ends with code 0 after SIGTERM', async () => {
    expect(await gateway.stop()).toBe(0)
    expect(await filesOf()).toEqual(before)
    expect(before).toContain('extensions/loans/index.ts')
    expect(before.filter((name) => /^node_modules\/(typescript|rolldown|esbuild|@swc)$/.test(name))).toEqual([])
  })
})
