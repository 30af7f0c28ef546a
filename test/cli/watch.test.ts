import { expect, test } from 'vitest'
import { onReload } from '../../src/cli/watch.ts'

test('a file that cannot be watched is told of, and SIGHUP reloads all the same', async () => {
  const faults: unknown[] = []
  const reloaded = Promise.withResolvers<void>()
  const reload = async () => reloaded.resolve()
  const reloads = onReload('/nowhere/portico.yaml', reload, (error) => faults.push(error))
  expect(faults).toMatchObject([{ code: 'ENOENT' }])
  process.emit('SIGHUP', 'SIGHUP')
  await reloaded.promise
  reloads.close()
})
