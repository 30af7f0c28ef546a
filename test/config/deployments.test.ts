import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Configuration, ConfigurationError } from '../../src/config/index.ts'
import { needs } from '../harness/needs.ts'
import { loadSettings, productionKey, root } from '../harness/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-deployments-'))
afterAll(() => rmSync(folder, { recursive: true }))

function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
const base = 'deploy/kubernetes/base'
const pods = [`${base}/deployment.yaml`, `${base}/migration-job.yaml`].map(textOf)
const [deployment = ''] = pods
const compose = textOf('compose.yaml')
const image = textOf('Dockerfile')
const documented = textOf('docs/guides/deploy.md')

function loadYaml(yaml: string, variables: Record<string, string> = {}): Configuration {
  const PORTICO_CONFIG = join(folder, 'portico.yaml')
  writeFileSync(PORTICO_CONFIG, yaml)
  const stores = {
    DATABASE_URL: 'postgres://portico@store/portico?sslmode=verify-full',
    REDIS_URL: 'rediss://store',
  }
  return loadSettings({ PORTICO_CONFIG, ...stores, ...variables })
}

function inKubernetes(): string {
  return textOf('deploy/helm/portico/files/portico.yaml')
}
function inCompose(): string {
  return textOf(
    z.object({ configs: z.object({ edge: z.object({ file: z.string() }) }) }).parse(load(compose)).configs.edge.file,
  )
}

function number(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1])
}

const drains = z.object({ shutdown: z.object({ delayMs: z.int(), timeoutMs: z.int() }) })

/** From SIGTERM to the end of the process (docs/guides/deploy.md). */
function drainSeconds(yaml: string): number {
  const { shutdown } = drains.parse(load(yaml))
  return (shutdown.delayMs + shutdown.timeoutMs) / 1_000 + 5
}

test('the Kubernetes example: valid in production, except for its published access codes', () => {
  const variables = { PORTICO_PROFILE: 'production', PORTICO_SECRET_KEY: productionKey, SMTP_URL: 'smtps://mail' }
  const start = () => loadYaml(inKubernetes(), variables)
  expect(start).toThrow(ConfigurationError)
  expect(start).toThrow(
    /has 2 error\(s\):\s+- portals\.CONSUMER\.accessCodes: .*example; replace it\s+- portals\.SYSTEM\.accessCodes: .*example; replace it$/,
  )
})

/** https://www.cloudflare.com/ips-v4 and https://www.cloudflare.com/ips-v6, as of 2026-02-11. */
const publishedRanges = [
  ...['173.245.48.0/20', '103.21.244.0/22', '103.22.200.0/22', '103.31.4.0/22', '141.101.64.0/18'],
  ...['108.162.192.0/18', '190.93.240.0/20', '188.114.96.0/20', '197.234.240.0/22', '198.41.128.0/17'],
  ...['162.158.0.0/15', '104.16.0.0/13', '104.24.0.0/14', '172.64.0.0/13', '131.0.72.0/22'],
  ...['2400:cb00::/32', '2606:4700::/32', '2803:f800::/32', '2405:b500::/32', '2405:8100::/32'],
  ...['2a06:98c0::/29', '2c0f:f248::/32'],
]
const withRanges = z.object({
  portals: z.object({ CONSUMER: z.object({ edge: z.object({ cloudflareRanges: z.array(z.string()) }) }) }),
})

test('the examples: list exactly the published addresses of Cloudflare', () => {
  for (const yaml of [inKubernetes(), textOf('config/production.example.yaml')])
    expect(withRanges.parse(load(yaml)).portals.CONSUMER.edge.cloudflareRanges).toEqual(publishedRanges)
})

test('compose.yaml: its configuration file is valid, and its gateways share their files', () => {
  const { portals, files } = loadYaml(inCompose())
  expect(portals.CONSUMER.edge).toMatchObject({ kind: 'cloudflare' })
  expect(files.storage).toEqual({ kind: 'disk', shared: true })
  expect(compose).toContain("volumes: ['files:/data']")
})

const unit = /^```ini\n(.*?)^```$/ms.exec(textOf('docs/guides/production.md'))?.[1] ?? ''

test('the systemd unit: starts again without a limit, while PostgreSQL or Redis is away', () => {
  const [head = '', service = ''] = unit.split('[Service]')
  expect(head).toMatch(/^\[Unit\]$/m)
  expect(head).toMatch(/^StartLimitIntervalSec=0$/m)
  expect(service).toMatch(/^Restart=always$/m)
})

test(
  'the systemd unit: systemd understands every line',
  needs(!spawnSync('systemd-analyze', ['--version']).error, 'systemd is not installed'),
  () => {
    const file = join(folder, 'portico.service')
    writeFileSync(file, unit)
    const { stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
    // It also reports the units of the machine.
    expect(stderr.split('\n').filter((line) => line.includes('portico.service'))).toEqual([])
  },
)

test('every deployment allows more time to stop than draining takes', () => {
  const drain = drainSeconds(textOf('config/default.yaml'))
  expect(number(deployment, /terminationGracePeriodSeconds: (\d+)/)).toBeGreaterThan(drainSeconds(inKubernetes()))
  expect(number(unit, /TimeoutStopSec=(\d+)/)).toBeGreaterThan(drain)
  expect(number(compose, /stop_grace_period: (\d+)s/)).toBeGreaterThan(drain)
  expect(number(documented, /docker run .*--stop-timeout (\d+)/)).toBeGreaterThan(drain)
})

test('the image runs as an unprivileged user, and its pods can write to /tmp only', () => {
  const [user, base] = [/^USER (\d+):\1$/m.exec(image)?.[1], /^ARG BASE=(\S+)$/m.exec(image)?.[1]]
  expect(Number(user)).toBeGreaterThan(0)
  expect(base).toMatch(/^docker\.io\/library\/node:\d+\.\d+\.\d+-/)
  for (const pod of pods) {
    expect(number(pod, /runAsUser: (\d+)/)).toBe(Number(user))
    expect(pod).toMatch(/readOnlyRootFilesystem: true/)
  }
  expect(compose).toMatch(/read_only: true/)
  expect(
    [...deployment.matchAll(/mountPath: ([^,} ]+)(, readOnly: true)?/g)].flatMap(([, path, only]) =>
      only ? [] : [path],
    ),
  ).toEqual(['/tmp'])
})
