import { setImmediate as turn } from 'node:timers/promises'

/** Each in a turn of the event loop of its own: the process that makes the document serves others meanwhile. */
export async function* inTurns<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const item of items) {
    await turn()
    yield item
  }
}
