import { setImmediate as turn } from 'node:timers/promises'

/** A millisecond's work or two. A busy process may take ten times that for a turn, and whoever waits for the document all turns. */
const atOnce = 8

/** A few in each turn of the event loop: the process that makes the document serves others meanwhile. */
export async function* inTurns<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const [index, item] of items.entries()) {
    if (index % atOnce === 0) await turn()
    yield item
  }
}
