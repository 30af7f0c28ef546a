import { startReceiver } from '../harness/receiver.ts'
import { type Arrivals, createArrivals } from './arrivals.ts'
import type { Bank, Place } from './bank.ts'
import { lastEvents } from './orders.ts'

/** Receives the last events of the orders of one workspace. */
export interface WebhookReceiver {
  readonly arrivals: Arrivals
  /** Ids of requests that the secret has not signed, or whose event has another id. */
  readonly wrong: readonly string[]
  close(): Promise<void>
}

export async function receiveWebhooks(bank: Bank, place: Place): Promise<WebhookReceiver> {
  const [arrivals, wrong] = [createArrivals(), [] as string[]]
  const receiver = await startReceiver()
  receiver.respond = (_request, response) => {
    for (const { id, event } of receiver.received.splice(0)) {
      if (event?.id === id) arrivals.add(event)
      else wrong.push(id)
    }
    response.end()
  }
  const body = { url: receiver.url, eventTypes: lastEvents }
  const created = await bank.call('owner', 'POST', '/webhooks', { place, body })
  if (created.status !== 200) throw new Error(`/webhooks: ${created.status} ${created.text}`)
  receiver.secrets = [created.body.data.secret]
  return { arrivals, wrong, close: receiver.close }
}
