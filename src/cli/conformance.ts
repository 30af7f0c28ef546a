import { stderr, stdout } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { checkDeployment, type Result } from '../conformance/index.ts'
import { systemIds } from '../platform/runtime/index.ts'
import { type Command, UsageError } from './command.ts'
import { progressBar } from './progress.ts'

const width = 44
const shownFindings = 5

const line = ({ check, requests, limited, findings }: Result): string => {
  const result = findings.length === 0 ? 'ok' : `${findings.length} failed`
  const verdict = limited === 0 ? result : `${result}, ${limited} limited`
  const details = findings
    .slice(0, shownFindings)
    .map(
      ({ operationId, chainId, expected, got }) => `    ${operationId} on ${chainId}: expected ${expected}, got ${got}`,
    )
  return [`${check.padEnd(width)} ${String(requests).padStart(5)}  ${verdict}`, ...details].join('\n')
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

export const conformance: Command = {
  name: 'conformance',
  summary: 'check a running deployment against the contract',
  help: [
    '  --target URL               the portal listener (http://127.0.0.1:8080)',
    '  --consumer-code CODE       access code of the CONSUMER portal (consumer-dev)',
    '  --system-code CODE         access code of the SYSTEM portal (system-dev)',
    '  --no-edge-headers          omit CF-* and X-Forwarded-Proto: an edge in front of the target sets them',
    '',
    'Sends about 1,500 requests that the target must refuse, so nothing changes there. Exit code 1 if a check fails.',
    'Waits up to two minutes for each request that is rate limited. Requests that are limited for longer are counted',
    'and not checked: set PORTICO_RATE_LIMIT_SCALE at the target to avoid them.',
  ].join('\n'),
  options: {
    target: { type: 'string', default: 'http://127.0.0.1:8080' },
    'consumer-code': { type: 'string', default: 'consumer-dev' },
    'system-code': { type: 'string', default: 'system-dev' },
    'no-edge-headers': { type: 'boolean', default: false },
  },
  run: async (values) => {
    const CONSUMER = text(values['consumer-code'])
    const SYSTEM = text(values['system-code'])
    const url = text(values.target) ?? ''
    if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new UsageError(`--target must be a URL, not '${url}'`)
    const target = {
      url,
      accessCodes: { ...(CONSUMER && { CONSUMER }), ...(SYSTEM && { SYSTEM }) },
      edgeHeaders: values['no-edge-headers'] !== true,
      requestId: () => systemIds.next(),
      pause,
    }
    const results = await checkDeployment(target, progressBar(stderr))
    stdout.write(`${'check'.padEnd(width)} count  result\n${results.map(line).join('\n')}\n`)
    return results.every(({ findings }) => findings.length === 0) ? 0 : 1
  },
}
