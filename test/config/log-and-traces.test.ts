import { describe, expect, test } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { productionKey } from '../harness/settings.ts'
import { configurationFile } from './configuration-file.ts'

const { errorsOf, load } = configurationFile()

describe('log.fields', () => {
  test.each(['authorization', 'cookie', 'x-client-hash', 'X-Portal-Access-Code', 'query', 'body', ''])(
    'an unknown name is refused with the list: %s',
    (name) => {
      expect(errorsOf({ log: { fields: [name] } })).toEqual([
        expect.stringMatching(/^log\.fields\.0: .*"acceptLanguage"\|"cfRay"\|.*"upstreamStatus"$/),
      ])
    },
  )

  test('known names are accepted; there are none by default', () => {
    expect(load({ log: { fields: ['referer', 'upstream'] } }).log.fields).toEqual(['referer', 'upstream'])
    expect(load({}).log.fields).toEqual([])
  })
})

describe('OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  const tracingOf = (variables: Variables) => {
    const { tracing, otlpEndpoint } = load({}, variables)
    return [tracing.enabled, otlpEndpoint]
  }
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector.example:4318'

  test('alone enables traces; OTEL_SDK_DISABLED disables them again', () => {
    expect(tracingOf({})).toEqual([false, null])
    expect(tracingOf({ OTEL_EXPORTER_OTLP_ENDPOINT })).toEqual([true, OTEL_EXPORTER_OTLP_ENDPOINT])
    expect(tracingOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/v1/traces' })[0]).toBe(true)
    expect(tracingOf({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' })).toEqual([false, null])
  })

  test.each<[Variables, string]>([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, 'OTEL_EXPORTER_OTLP_ENDPOINT: must be a URL'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:hidden@c:4318' }, 'OTEL_EXPORTER_OTLP_ENDPOINT: must be a URL'],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      'OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf',
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' },
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: must be http/protobuf',
    ],
  ])('%j: refused', (variables, start) => {
    const errors = errorsOf({}, variables)
    expect(errors).toEqual([expect.stringContaining(start)])
    expect(errors.join()).not.toContain('hidden')
  })

  test('production needs TLS to another host, or a variable that accepts its lack', () => {
    const settings = {
      profile: 'production',
      publicUrl: 'https://portal.example',
      mail: { from: 'Portal <no-reply@portal.example>' },
      portals: { CONSUMER: { accessCodes: ['a'.repeat(64)] }, SYSTEM: { accessCodes: ['b'.repeat(64)] } },
    }
    const DATABASE_URL = 'postgres://db.example/portico?sslmode=verify-full'
    const own = { PORTICO_SECRET_KEY: productionKey, DATABASE_URL, SMTP_URL: 'smtps://mail.example' }
    const errors = (variables: Variables) => errorsOf(settings, { ...own, ...variables })
    expect(errors({ OTEL_EXPORTER_OTLP_ENDPOINT })).toEqual([
      'OTEL_EXPORTER_OTLP_ENDPOINT: must be https in production, or OTEL_EXPORTER_OTLP_INSECURE must be true to send spans without encryption',
    ])
    expect(errors({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_INSECURE: 'true' })).toEqual([])
    expect(errors({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' })).toEqual([])
    expect(errors({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example' })).toEqual([])
  })
})
