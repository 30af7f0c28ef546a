import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { root } from '../../harness/settings.ts'

const lines = 20_000

/** Logs faster than the reader reads, so that the pipe is full. */
const program = (worker: number) => `
  import { createLogger } from ${JSON.stringify(`${root}src/platform/telemetry/index.ts`)}
  const logger = createLogger('info', undefined, 'json', ${worker})
  for (let line = 0; line < ${lines}; line += 1) logger.info({ line, text: 'ä'.repeat(line % 90) }, 'line')`

test('lines of several workers in one pipe stay whole and in order, and have their number', async () => {
  // The shell gives both processes its own standard output.
  const command = [1, 2].map((worker) => `"$0" --input-type=module -e "$${worker}" &`).join(' ')
  const shell = spawn('/bin/sh', ['-c', `${command} wait`, process.execPath, program(1), program(2)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(shell, 'exit')
  let text = ''
  for await (const chunk of shell.stdout.setEncoding('utf8')) {
    text += chunk
    await pause(10)
  }
  await ended
  const received = text
    .trimEnd()
    .split('\n')
    .map((line): { worker: number; line: number } => JSON.parse(line))
  for (const worker of [1, 2])
    expect(received.filter((each) => each.worker === worker).map(({ line }) => line)).toEqual([...Array(lines).keys()])
})
