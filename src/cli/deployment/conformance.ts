import { setTimeout as pause } from 'node:timers/promises'
import { catalogueOf, loadConfigured } from '../../compose/extensions.ts'
import { additionalPortals } from '../../compose/portals/additional.ts'
import { loadConfiguration } from '../../config/index.ts'
import { checkDeployment, type Result } from '../../conformance/index.ts'
import type { AdditionalPortal } from '../../gateway/index.ts'
import { systemIds } from '../../platform/runtime/index.ts'
import { type Command, type CommandContext, UsageError } from '../command.ts'
import { progressBar } from '../progress.ts'
import { checkUpstream, upstreamHelp, upstreamOptions } from './service-conformance.ts'

const width = 44
const shownFindings = 5

const targetOptions = {
  target: { type: 'string' },
  'consumer-code': { type: 'string' },
  'system-code': { type: 'string' },
  'portal-code': { type: 'string', multiple: true },
  'no-edge-headers': { type: 'boolean' },
} as const

export const conformance: Command = {
  name: 'conformance',
  summary: 'check a running deployment, or a service behind it, against the contract',
  help: [
    'A deployment:',
    '  --target URL               the portal listener (http://127.0.0.1:8080)',
    '  --consumer-code CODE       access code of the CONSUMER portal (consumer-dev)',
    '  --system-code CODE         access code of the SYSTEM portal (system-dev)',
    '  --portal-code NAME=CODE    access code of a portal that the configuration declares; repeat it for each',
    '  --no-edge-headers          omit CF-* and X-Forwarded-Proto: an edge in front of the target sets them',
    '',
    'Sends about 2,700 requests that the target must refuse, so nothing changes there. Waits up to two minutes for each',
    'request that is rate limited. Requests that are limited for longer are counted and not checked: set',
    'PORTICO_RATE_LIMIT_SCALE at the target to avoid them.',
    '',
    'A service that serves domains behind a gateway:',
    ...upstreamHelp,
    '',
    'Checks the operations of this configuration, with those of its `extensions` and `operations`. Use the configuration of',
    'the deployment. Exit code 1 if a check fails.',
  ].join('\n'),
  options: { ...targetOptions, ...upstreamOptions },
  run: (values, context) => {
    assertOneCheck(values)
    return values.upstream === undefined ? checkTarget(values, context) : checkUpstream(values, context)
  },
}

/** Throws a UsageError if the options of both checks are mixed. */
function assertOneCheck(values: Record<string, unknown>): void {
  const isUpstream = values.upstream !== undefined
  const foreign = Object.keys(isUpstream ? targetOptions : upstreamOptions).find((name) => values[name] !== undefined)
  if (foreign !== undefined)
    throw new UsageError(
      isUpstream ? `--${foreign} cannot be combined with --upstream` : `--${foreign} needs --upstream`,
    )
}

async function checkTarget(
  values: Record<string, unknown>,
  { domains, variables, print, stderr }: CommandContext,
): Promise<number> {
  const CONSUMER = text(values['consumer-code']) ?? 'consumer-dev'
  const SYSTEM = text(values['system-code']) ?? 'system-dev'
  const url = text(values.target) ?? 'http://127.0.0.1:8080'
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new UsageError(`--target must be a URL, not '${url}'`)
  const settings = loadConfiguration(variables, domains)
  const { domains: loaded } = await loadConfigured(domains, settings)
  const catalogue = catalogueOf(loaded)
  const additional = additionalPortals(settings, catalogue)
  const target = {
    url,
    additional,
    accessCodes: {
      ...(CONSUMER && { CONSUMER }),
      ...(SYSTEM && { SYSTEM }),
      ...readCodes(values['portal-code'], additional),
    },
    edgeHeaders: values['no-edge-headers'] !== true,
    requestId: () => systemIds.next(),
    pause,
  }
  const results = await checkDeployment(target, catalogue.operations, progressBar(stderr))
  print({ checks: results }, `${'check'.padEnd(width)} count  result\n${results.map(line).join('\n')}\n`)
  return results.every(({ findings }) => findings.length === 0) ? 0 : 1
}

/** Throws a UsageError for a portal that the configuration does not declare. */
function readCodes(values: unknown, additional: readonly AdditionalPortal[]): Record<string, string> {
  const texts = Array.isArray(values) ? values.map(String) : []
  return Object.fromEntries(
    texts.map((each) => {
      const [name = '', code = ''] = each.split(/=(.*)/s)
      if (!additional.some(({ portal }) => portal === name) || code === '')
        throw new UsageError(`--portal-code must be NAME=CODE with a portal of the configuration, not '${name}'`)
      return [name, code]
    }),
  )
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function line({ check, requests, limited, findings }: Result): string {
  const result = findings.length === 0 ? 'ok' : `${findings.length} failed`
  const verdict = limited === 0 ? result : `${result}, ${limited} limited`
  const details = findings
    .slice(0, shownFindings)
    .map(
      ({ operationId, chainId, expected, got }) => `    ${operationId} on ${chainId}: expected ${expected}, got ${got}`,
    )
  return [`${check.padEnd(width)} ${String(requests).padStart(5)}  ${verdict}`, ...details].join('\n')
}
