import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { runCli } from '../../harness/cli.ts'
import { root } from '../../harness/settings.ts'

const cards = {
  operations: [join(root, 'examples/cards-service/cards.yaml')],
  backends: { cards: { url: 'http://a.test' } },
}

function newFile(): string {
  return join(mkdtempSync(join(inject('runFolder'), 'client-')), 'portico.ts')
}

/** Serves one response at every path. Returns its URL, and the paths. */
async function serveOnce(status: number, body: string) {
  const paths: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    paths.push(url)
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths }
}

test('client 0: writes the operations of a configuration, and the same file again', async () => {
  const out = newFile()
  const [first, firstText] = [await runCli(['client', '--out', out], cards), readFileSync(out, 'utf8')]
  expect(first).toEqual({ code: 0, out: `wrote ${out} with 2 operations of cards\n`, err: '' })
  expect(firstText).toMatch(/^export const blockCard = \{$/m)
  const configuration = join(root, 'examples/cards-service/portico.yaml')
  expect((await runCli(['client', '--out', out, '--config', configuration], {})).code).toBe(0)
  const second = readFileSync(out, 'utf8')
  expect(second.split('\n')[0]).toContain(`from ${configuration}, Portico 0.1.0`)
  expect(second.split('\n').slice(1)).toEqual(firstText.split('\n').slice(1))
})

test('client 0: reads /openapi.json below the path of a gateway', async () => {
  const { out: document } = await runCli(['openapi'], cards)
  const { url, paths } = await serveOnce(200, document)
  const out = newFile()
  expect(await runCli(['client', '--out', out, '--url', `${url}/portal/`], {})).toMatchObject({ code: 0, err: '' })
  expect([paths, existsSync(out)]).toEqual([['/portal/openapi.json'], true])
})

test.each([
  [
    404,
    '{}',
    /^portico: http:\S+\/openapi\.json responds with 404\. Use a gateway whose reference\.enabled is true, or --config\n$/,
  ],
  [200, '<html>', /^portico: http:\S+\/openapi\.json: the response is not valid JSON\n$/],
  [200, '{"openapi":"3.1.0"}', /^portico: http:\S+ is not an OpenAPI document of a Portico gateway\n$/],
])('client 1: a URL that responds with %i and %s writes nothing', async (status, body, message) => {
  const out = newFile()
  const { url } = await serveOnce(status, body)
  const result = await runCli(['client', '--out', out, '--url', url], {})
  expect([result.code, result.out, existsSync(out)]).toEqual([1, '', false])
  expect(result.err).toMatch(message)
})

test('client 1: an unreachable gateway and an unwritable file are errors of one line', async () => {
  const unreachable = await runCli(['client', '--out', newFile(), '--url', 'http://127.0.0.1:1'], {})
  expect([unreachable.code, unreachable.err]).toEqual([
    1,
    expect.stringMatching(/^portico: http:\S+ cannot be read: .+\n$/),
  ])
  const unwritable = await runCli(['client', '--out', '/nowhere/portico.ts'], cards)
  expect([unwritable.code, unwritable.err]).toEqual([
    1,
    expect.stringMatching(/^portico: .*\/nowhere\/portico\.ts.*\n$/),
  ])
})

test('client 2: a file that the command did not write is not overwritten', async () => {
  const out = newFile()
  writeFileSync(out, 'mine')
  const { code, err } = await runCli(['client', '--out', out], cards)
  expect([code, readFileSync(out, 'utf8')]).toEqual([2, 'mine'])
  expect(err).toBe(`portico: --out: ${out} exists already, and \`portico client\` did not write it\n`)
})
