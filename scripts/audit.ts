/*
 * Checks the production dependencies and the shipped packages for known vulnerabilities: `npm run check:audit`. A finding of severity high or
 * critical fails it. It is skipped if the registry mirror has no audit endpoint. Every other error fails it.
 */
import { spawnSync } from 'node:child_process'
import { stderr, stdout } from 'node:process'
import { z } from 'zod'
import { shippedPackages } from './shipped.ts'

const Report = z.object({
  vulnerabilities: z.record(z.string(), z.object({ severity: z.string(), range: z.string() })),
})
const Failure = z.object({ statusCode: z.literal([404, 405, 501]) })

/** Reads the output of `npm audit --json`. Throws if it is neither a report nor states that the endpoint is missing. */
export function readAudit(output: string): { skipped: string } | { findings: string[] } {
  const json: unknown = JSON.parse(output)
  const report = Report.safeParse(json)
  if (report.success) {
    const severe = Object.entries(report.data.vulnerabilities).filter(([, { severity }]) =>
      ['high', 'critical'].includes(severity),
    )
    return { findings: severe.map(([name, { severity, range }]) => `${name} ${range}: ${severity}`) }
  }
  const failure = Failure.safeParse(json)
  if (failure.success) return { skipped: `the registry has no audit endpoint (status ${failure.data.statusCode})` }
  throw new Error(`npm audit failed: ${output}`)
}

function audit(...options: string[]) {
  return readAudit(spawnSync('npm', ['audit', '--json', ...options], { encoding: 'utf8' }).stdout)
}

if (import.meta.main) {
  const [production, all] = [audit('--omit=dev'), audit()]
  if ('skipped' in production) stdout.write(`check:audit skipped: ${production.skipped}\n`)
  else {
    const ofAll = 'findings' in all ? all.findings : []
    const shipped = ofAll.filter((finding) => shippedPackages.has(finding.split(' ')[0] ?? ''))
    const findings = [...production.findings, ...shipped]
    for (const finding of findings) stderr.write(`${finding}\n`)
    stdout.write(`check:audit: ${findings.length} findings\n`)
    if (findings.length > 0) process.exitCode = 1
  }
}
