import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { uploadFile } from '../../../../src/banking/files/contract.ts'
import { type Call, runStages } from '../../../../src/gateway/pipeline/call.ts'
import { enforcePace, readBody } from '../../../../src/gateway/pipeline/stages/body.ts'
import { bodyStage, reauthorizeAfter, skipReauthorization } from '../../../../src/gateway/pipeline/stages/index.ts'
import { initiateLogin } from '../../../../src/identity/login/contract.ts'
import { openSecureChannel } from '../../../../src/identity/secure-channel/contract.ts'
import { type Operation, Refusal } from '../../../../src/kernel/index.ts'
import { systemDurations } from '../../../../src/platform/runtime/index.ts'
import { refusalOf } from '../../../banking/world.ts'
import { arrivedCall, headersOf } from '../../../harness/call.ts'
import { testSettings } from '../../../harness/settings.ts'

afterEach(() => void vi.useRealTimers())

const maxBytes = 32
const stage = bodyStage(
  { ...testSettings({}).requests, maxBodyBytes: maxBytes, bodyTimeoutMs: 100 },
  skipReauthorization,
)

function callOf(operation: Operation, headers: Record<string, string>, body: Readable): Call {
  return arrivedCall(operation, { headers: headersOf(headers), body })
}

const typed = { 'content-type': 'application/json' }
const chunked = { ...typed, 'transfer-encoding': 'chunked' }

/** Returns the JSON or the code of the refusal. */
async function read(headers: Record<string, string>, ...pieces: string[]): Promise<unknown> {
  const call = callOf(initiateLogin, headers, Readable.from(pieces.map((piece) => Buffer.from(piece))))
  const code = await refusalOf((async () => stage(call))())
  return code === 'none' ? call.payload : code
}
function text(bytes: number) {
  return `"${'x'.repeat(bytes - 2)}"`
}

describe('a body', () => {
  test('413 above the maximum size, with or without a content length', async () => {
    const whole = 'x'.repeat(maxBytes - 2)
    expect(await read({ ...typed, 'content-length': String(maxBytes) }, text(maxBytes))).toBe(whole)
    expect(await read(chunked, '"', text(maxBytes).slice(1))).toBe(whole)
    expect(await read({ ...typed, 'content-length': String(maxBytes + 1) })).toBe('REQUEST.TOO_LARGE')
    expect(await read(chunked, '"', text(maxBytes + 1).slice(1))).toBe('REQUEST.TOO_LARGE')
  })

  test('an empty body needs no content type', async () => {
    expect(await read({})).toBeUndefined()
    expect(await read({ 'content-length': '0' })).toBeUndefined()
    expect(await read({ 'transfer-encoding': 'chunked' })).toBeUndefined()
    expect(await read({ 'transfer-encoding': 'chunked' }, '{}')).toBe('REQUEST.UNSUPPORTED_MEDIA_TYPE')
  })

  test('415 for an encoded body', async () => {
    for (const identity of ['identity', 'Identity'])
      expect(await read({ ...chunked, 'content-encoding': identity }, '1')).toBe(1)
    expect(await read({ ...chunked, 'content-encoding': 'gzip' }, '1')).toBe('REQUEST.UNSUPPORTED_MEDIA_TYPE')
  })

  test('JSON in UTF-8 is accepted in every spelling (RFC 9110, 5.6.6 and 8.3.1); 415 for other types', async () => {
    const readAs = (type: string) => read({ ...chunked, 'content-type': type }, '1')
    for (const type of ['Application/JSON', 'application/json;', 'application/json ; ;Charset="UTF-8";'])
      expect([type, await readAs(type)]).toEqual([type, 1])
    for (const type of ['application/jsonx', 'application/json; charset=utf-16', 'application/json v=1', 'text/json'])
      expect([type, await readAs(type)]).toEqual([type, 'REQUEST.UNSUPPORTED_MEDIA_TYPE'])
  })

  test.each([
    'application/json; charset=utf8',
    'application/json;charset=UTF8',
    'APPLICATION/JSON; CHARSET="Utf8"',
    'application/json; charset=utf-8; charset=utf8',
    'application/json; v=1',
    'application/json;odata.metadata=minimal;odata.streaming=true;charset=utf-8',
    'application/json; profile="https://example.com/a;b, \\"c\\""; charset=utf8',
    'application/json; charsets=x',
  ])('login 200: JSON as %s', async (type) => {
    expect(await read({ ...chunked, 'content-type': type }, '1')).toBe(1)
  })

  test.each([
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset=utf-16; charset=utf8',
    'application/json; charset=utf8; v=1; charset="iso-8859-1"',
    'application/json; charset="utf-16"',
    "application/json; charset*=utf-16''x",
    'application/json; charset=',
    'application/json; charset',
    'application/json; charset =utf-16',
    'application/json; charset=utf-80',
    'application/json; v="1',
    'application/json; v=1 2',
    'application/json, application/json',
    'application/json; v=1, text/plain',
    `application/json; v="${'\\'.repeat(200)}`,
  ])('login 415 REQUEST.UNSUPPORTED_MEDIA_TYPE: JSON as %s', async (type) => {
    expect(await read({ ...chunked, 'content-type': type }, '1')).toBe('REQUEST.UNSUPPORTED_MEDIA_TYPE')
  })

  test('login 400: one byte-order mark before JSON is ignored, but not a second or a single one', async () => {
    expect(await read(chunked, '\ufeff', '1')).toBe(1)
    for (const text of ['\ufeff\ufeff1', '\ufeff', '1\ufeff'])
      expect(await read(chunked, text)).toBe('VALIDATION.INVALID_PARAMETER')
  })

  test('408 for an incomplete body, 400 for one that breaks off', async () => {
    const readAs = (body: Readable) => refusalOf((async () => stage(callOf(initiateLogin, chunked, body)))())
    const slow = new PassThrough()
    slow.write('{')
    expect(await readAs(slow)).toBe('REQUEST.TIMEOUT')
    const broken = new PassThrough()
    setImmediate(() => broken.destroy(new Error('broken')))
    expect(await readAs(broken)).toBe('REQUEST.MALFORMED')
    const gone = new PassThrough()
    setImmediate(() => gone.emit('aborted'))
    expect(await readAs(gone)).toBe('REQUEST.MALFORMED')
  })

  test('a complete body leaves no timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    expect(await readBody(Readable.from([Buffer.from('{}')]), 10, 1_000)).toEqual(Buffer.from('{}'))
    expect(vi.getTimerCount()).toBe(0)
  })

  test('an unreadable body is refused with the code that its operation declares', async () => {
    const readAs = (operation: Operation) =>
      refusalOf((async () => stage(callOf(operation, chunked, Readable.from([Buffer.from('{')]))))())
    expect(await readAs(initiateLogin)).toBe('VALIDATION.INVALID_PARAMETER')
    expect(await readAs(openSecureChannel)).toBe('SECURE_CHANNEL.INVALID_PAYLOAD')
  })

  test('an upload needs a content type with a boundary and at most 256 characters', async () => {
    const readAs = (type: string) =>
      refusalOf((async () => stage(callOf(uploadFile, { 'content-type': type }, Readable.from([]))))())
    const start = 'multipart/form-data; boundary='
    expect(await readAs(start.padEnd(256, 'b'))).toBe('none')
    expect(await readAs(start.padEnd(257, 'b'))).toBe('REQUEST.UNSUPPORTED_MEDIA_TYPE')
    expect(await readAs('multipart/form-data')).toBe('REQUEST.UNSUPPORTED_MEDIA_TYPE')
  })
})

describe('a call with a slow body', () => {
  const settings = testSettings({}).requests
  const evaluators = ['caller', 'rights'].map((name) => (call: Call) => {
    call.userAgent += `${name} `
  })
  const refusing = () => Promise.reject(new Refusal('ACCESS.TOKEN_INVALID'))

  test('is authorized again in the same order; a fast one is not', async () => {
    const evaluated = async (afterMs: number) => {
      const call = callOf(initiateLogin, chunked, Readable.from([Buffer.from('{}')]))
      await bodyStage(settings, reauthorizeAfter(evaluators, afterMs, systemDurations))(call)
      return call.userAgent
    }
    expect(await evaluated(0)).toBe('caller rights ')
    expect(await evaluated(60_000)).toBe('')
  })

  test('is refused by authorization before the body is parsed', async () => {
    const stage = bodyStage(settings, reauthorizeAfter([refusing], 0, systemDurations))
    const readAs = async (body: string) => stage(callOf(initiateLogin, chunked, Readable.from([Buffer.from(body)])))
    expect(await refusalOf(readAs('{}'))).toBe('ACCESS.TOKEN_INVALID')
    expect(await refusalOf(readAs('{'))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('is refused before an upload ends', async () => {
    const call = callOf(uploadFile, { 'content-type': 'multipart/form-data; boundary=b' }, Readable.from(['bytes']))
    await bodyStage(settings, reauthorizeAfter([refusing], 0, systemDurations))(call)
    expect(await refusalOf(call.upload?.bytes.toArray() ?? Promise.resolve())).toBe('ACCESS.TOKEN_INVALID')
  })
})

describe('an upload with a minimum pace', () => {
  const windowMs = 60
  const start = () => {
    const source = new PassThrough({ highWaterMark: 8 })
    const through = enforcePace(source, { windowMs, bytes: 4 }, () => undefined)
    const ended = refusalOf(
      new Promise<void>((resolve, reject) => through.on('error', reject).on('close', () => resolve())),
    )
    return { source, through, ended }
  }

  test('continues while each window has enough bytes; 408 in the first one with fewer', async () => {
    const { source, through, ended } = start()
    through.resume()
    source.write('xxxx')
    const timer = setInterval(() => source.write('xxxx'), windowMs / 3)
    await pause(windowMs * 4)
    expect(through.destroyed).toBe(false)
    clearInterval(timer)
    expect(await ended).toBe('REQUEST.TIMEOUT')
  })

  test('passes with exactly the minimum', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { source, through } = start()
    for (let round = 0; round < 3; round++) {
      source.write('xxxx')
      await once(through, 'data')
      vi.advanceTimersByTime(windowMs)
      expect(through.destroyed).toBe(false)
    }
    through.destroy()
  })

  test('a slow, unread upload causes no uncaught error', async () => {
    const uncaught: unknown[] = []
    const note = (error: unknown) => void uncaught.push(error)
    process.on('uncaughtException', note)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const through = enforcePace(new PassThrough(), { windowMs, bytes: 4 }, () => undefined)
    vi.advanceTimersByTime(windowMs)
    await pause(1)
    process.off('uncaughtException', note)
    expect([through.destroyed, uncaught]).toEqual([true, []])
  })

  test('is destroyed with a refused call and leaves no bytes or listeners', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const source = new PassThrough()
    source.write(Buffer.alloc(1_000_000))
    const call = callOf(uploadFile, { 'content-type': 'multipart/form-data; boundary=b' }, source)
    const refuses = (): never => {
      throw new Refusal('VALIDATION.INVALID_PARAMETER')
    }
    expect(await refusalOf(runStages([stage, refuses], call))).toBe('VALIDATION.INVALID_PARAMETER')
    await turn()
    expect([call.upload?.bytes.destroyed, vi.getTimerCount()]).toEqual([true, 0])
  })

  test('408 for too few bytes', async () => {
    const { source, through, ended } = start()
    through.resume()
    const timer = setInterval(() => source.write('x'), windowMs / 2)
    expect(await ended).toBe('REQUEST.TIMEOUT')
    clearInterval(timer)
  })

  test('passes while its reader pauses it', async () => {
    const { source, through } = start()
    source.write('x'.repeat(200_000))
    await pause(windowMs * 4)
    expect(through.destroyed).toBe(false)
    through.destroy()
  })

  test('passes while its reader has not read a complete upload', async () => {
    const { source, through } = start()
    source.end('xxxx')
    await pause(windowMs * 3)
    expect(through.destroyed).toBe(false)
    expect(await through.toArray()).toEqual([Buffer.from('xxxx')])
  })

  test('ends with its source, with or without an error, and leaves no timer', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
    const before = timers()
    const broken = start()
    broken.through.resume()
    broken.source.destroy(new Error('broken'))
    await expect(broken.ended).rejects.toThrow('broken')
    const gone = start()
    gone.through.resume()
    gone.source.destroy()
    expect(await gone.ended).toBe('none')
    expect(timers()).toBeLessThanOrEqual(before)
  })
})
