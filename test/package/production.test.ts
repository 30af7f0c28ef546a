import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generateSync } from 'otplib'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { nginxIsInstalled } from '../harness/nginx.ts'
import { root } from '../harness/settings.ts'
import { userEnvironment } from './environment.ts'
import { type Machine, startMachine } from './machine.ts'
import { runIn } from './user.ts'

function textOf(page: string): string {
  return readFileSync(join(root, 'docs/guides', page), 'utf8')
}

/** The steps of the guide with their commands and files, in order. */
const steps = textOf('production.md')
  .split(/^## /m)
  .slice(1)
  .map((step) => ({
    title: step.slice(0, step.indexOf('\n')),
    blocks: [...step.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({ language, text })),
  }))

const edge = /^```nginx\n(.*?)^```$/ms.exec(textOf('load-balancers.md'))?.[1] ?? ''

/** The line of the guide that a person sees after each step. */
const printed: Readonly<Record<string, RegExp>> = {
  '3': /^CREATE DATABASE$/m,
  '4': /^OK\nOK$/m,
  '7': /^profile: production$/m,
  '8': /^\{"status":"ready"/m,
}

describe('docs/guides/production.md', needs(nginxIsInstalled(), 'nginx is not installed'), () => {
  let machine: Machine | undefined
  let output = ''

  beforeAll(async () => {
    machine = await startMachine()
    if (!machine) return
    const [key, certificate] = ['portal.key', 'portal.pem'].map((name) => join(machine?.folder ?? '', 'etc/ssl', name))
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'],
        ...['-addext', 'subjectAltName=DNS:localhost', '-keyout', key ?? '', '-out', certificate ?? ''],
      ],
      { stdio: 'ignore' },
    )
  })
  afterAll(() => machine?.stop())

  /** Answers the prompts of the sign-in with the output of `operator create`. */
  const answer = async (script: string, { folder, variables }: Machine): Promise<string> => {
    const password = /^password \(shown only once\): (\S+)$/m.exec(output)?.[1] ?? ''
    const secret = /^authenticator secret: (\S+)$/m.exec(output)?.[1] ?? ''
    const answers = [password, generateSync({ secret })]
    const child = spawn('bash', ['-ec', script], { cwd: folder, env: userEnvironment(variables) })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        if (/: $/.test(chunk.toString()) && answers.length > 0) child.stdin.write(`${answers.shift()}\n`)
      })
    await once(child, 'close')
    return text
  }

  test('has ten steps', () => {
    expect(steps.map(({ title }) => title.split('.')[0])).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9', '10'])
  })

  test.each(steps)('step $title', async ({ title, blocks }) => {
    const on = machine ?? expect.fail('PostgreSQL is not installed')
    const [number = ''] = title.split('.')
    if (number === '9') {
      const server = edge.replace(/^ *server 10\.0\.0\.12.*\n/m, '').replace('10.0.0.11:8080', '127.0.0.1:8080')
      await writeFile(join(on.folder, 'etc/nginx/conf.d/portico.conf'), on.here(server))
    }
    for (const { language, text } of blocks) {
      const here = on
        .here(text)
        .replace(/npm install --ignore-scripts portico$/m, `npm install --ignore-scripts ${inject('package').tarball}`)
      if (language !== 'sh') {
        const [, file = ''] = /^(?:#|\/\/) (\S+)\n/.exec(here) ?? []
        await writeFile(file, here)
        continue
      }
      if (here.includes('sign-in.mjs')) {
        expect(await answer(here, on)).toContain('Signed in: ana@example.com\n')
        continue
      }
      const variables = { ...on.variables, npm_config_prefer_offline: 'true', npm_config_audit: 'false' }
      const { code, stdout, stderr } = await runIn(on.folder, ['bash', '-ec', here], variables)
      expect(code, stdout + stderr).toBe(0)
      output = stdout
    }
    expect(output).toMatch(printed[number] ?? /(?:)/)
  })

  test('keeps the secrets from other users', async () => {
    const on = machine ?? expect.fail('PostgreSQL is not installed')
    const { stdout } = await runIn(on.folder, ['bash', '-ec', "stat -c '%a %n' etc/portico/*"])
    expect(stdout.trim().split('\n')).toEqual([
      '600 etc/portico/consumer-access-code',
      '600 etc/portico/database-password',
      '600 etc/portico/portico.env',
      '644 etc/portico/portico.yaml',
      '600 etc/portico/system-access-code',
    ])
  })
})
