import { expect, test } from 'vitest'
import { readAudit } from '../../scripts/audit.ts'

function report(severity: string): string {
  return JSON.stringify({ auditReportVersion: 2, vulnerabilities: { qs: { name: 'qs', severity, range: '<6.16.0' } } })
}

test.each(['high', 'critical'])('a finding of severity %s is reported', (severity) => {
  expect(readAudit(report(severity))).toEqual({ findings: [`qs <6.16.0: ${severity}`] })
})

test.each(['low', 'moderate'])('a finding of severity %s is accepted', (severity) => {
  expect(readAudit(report(severity))).toEqual({ findings: [] })
})

test('a mirror without the endpoint skips the check by name', () => {
  const output = JSON.stringify({ message: '405 Method Not Allowed', statusCode: 405, error: {} })
  expect(readAudit(output)).toEqual({ skipped: 'the registry has no audit endpoint (status 405)' })
})

test.each([
  JSON.stringify({ message: '500 Internal Server Error', statusCode: 500 }),
  JSON.stringify({ error: { code: 'ENOTFOUND' } }),
  '',
])('every other output fails the check: %s', (output) => {
  expect(() => readAudit(output)).toThrow()
})
