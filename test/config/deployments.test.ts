import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load, loadAll } from 'js-yaml'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Configuration, ConfigurationError, loadConfiguration } from '../../src/config/index.ts'
import { productionKey, root } from '../harness/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-deployments-'))
afterAll(() => rmSync(folder, { recursive: true }))

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')
const kubernetes = textOf('deploy/kubernetes/portico.yaml')
const compose = textOf('compose.yaml')
const image = textOf('Dockerfile')
const documented = textOf('docs/guides/deploy.md')

/** Loads a configuration that is embedded in the file of an orchestrator, with the variables of that file. */
const loadYaml = (yaml: string, variables: Record<string, string> = {}): Configuration => {
  const PORTICO_CONFIG = join(folder, 'portico.yaml')
  writeFileSync(PORTICO_CONFIG, yaml)
  const stores = { DATABASE_URL: 'postgres://portico@store/portico', REDIS_URL: 'redis://store' }
  return loadConfiguration({ PORTICO_CONFIG, ...stores, ...variables })
}

const inKubernetes = (): string => {
  const found = loadAll(kubernetes).map((each) =>
    z.object({ data: z.object({ 'portico.yaml': z.string() }) }).safeParse(each),
  )
  return found.find(({ success }) => success)?.data?.data['portico.yaml'] ?? ''
}
const inCompose = (): string =>
  textOf(
    z.object({ configs: z.object({ edge: z.object({ file: z.string() }) }) }).parse(load(compose)).configs.edge.file,
  )

const number = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1])

const drains = z.object({ shutdown: z.object({ delayMs: z.int(), timeoutMs: z.int() }) })

/** Returns the maximum time from SIGTERM to the end of the process (docs/guides/deploy.md). */
const drainSeconds = (yaml: string): number => {
  const { shutdown } = drains.parse(load(yaml))
  return (shutdown.delayMs + shutdown.timeoutMs) / 1_000 + 5
}

test('the Kubernetes example: valid in production, except for its published access codes', () => {
  const variables = { PORTICO_PROFILE: 'production', PORTICO_SECRET_KEY: productionKey, SMTP_URL: 'smtps://mail' }
  const start = () => loadYaml(inKubernetes(), variables)
  expect(start).toThrow(ConfigurationError)
  expect(start).toThrow(
    /has 2 error\(s\):\s+- portals\.CONSUMER\.accessCodes: .*example\s+- portals\.SYSTEM\.accessCodes: .*example$/,
  )
})

test('compose.yaml: its configuration file is valid', () => {
  expect(loadYaml(inCompose()).portals.CONSUMER.edge).toMatchObject({ kind: 'cloudflare' })
})

test('every deployment allows more time to stop than draining takes', () => {
  const drain = drainSeconds(textOf('config/default.yaml'))
  expect(number(kubernetes, /terminationGracePeriodSeconds: (\d+)/)).toBeGreaterThan(drainSeconds(inKubernetes()))
  expect(number(compose, /stop_grace_period: (\d+)s/)).toBeGreaterThan(drain)
  expect(number(documented, /docker run .*--stop-timeout (\d+)/)).toBeGreaterThan(drain)
})

test('the image runs as an unprivileged user, and can write to /data and /tmp only', () => {
  const [user, base] = [/^USER (\d+):\1$/m.exec(image)?.[1], /^ARG BASE=(\S+)$/m.exec(image)?.[1]]
  expect(number(kubernetes, /runAsUser: (\d+)/)).toBe(Number(user))
  expect(Number(user)).toBeGreaterThan(0)
  expect(base).toMatch(/^docker\.io\/library\/node:\d+\.\d+\.\d+-/)
  expect(kubernetes).toMatch(/readOnlyRootFilesystem: true/)
  expect(compose).toMatch(/read_only: true/)
  expect(
    [...kubernetes.matchAll(/mountPath: ([^,} ]+)(, readOnly: true)?/g)].flatMap(([, path, only]) =>
      only ? [] : [path],
    ),
  ).toEqual(['/data', '/tmp'])
})
