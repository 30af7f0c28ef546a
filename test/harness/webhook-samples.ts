import {
  createPlatformWebhook,
  createWebhook,
  disablePlatformWebhook,
  disableWebhook,
  testPlatformWebhook,
  testWebhook,
} from '../../src/banking/webhooks/contract.ts'
import type { Place, Samples } from '../../src/testing/index.ts'

/** Nothing listens there, so deliveries fail. */
const url = 'http://127.0.0.1:59998/webhooks'
const body = { url, eventTypes: ['transfer.completed'] }

async function webhookIn({ run }: Place): Promise<string> {
  return (await run(createWebhook, { body })).bizId
}
async function platformWebhookIn({ run }: Place): Promise<string> {
  return (await run(createPlatformWebhook, { body })).bizId
}

const ofWebhook = async (place: Place) => ({ body: { webhookBizId: await webhookIn(place) } })
const ofPlatform = async (place: Place) => ({ body: { webhookBizId: await platformWebhookIn(place) } })
const inPath = async (place: Place) => ({ params: { webhook_id: await webhookIn(place) } })

export const webhookSamples: Samples = {
  'webhooks.create': () => ({ body }),
  'webhooks.createPlatform': () => ({ body }),
  'webhooks.read': inPath,
  'webhooks.listDeliveries': inPath,
  'webhooks.listAllDeliveries': inPath,
  'webhooks.disableAny': async (place) => ({ ...(await inPath(place)), body: { reason: 'Abuse' } }),
  'webhooks.update': async (place) => ({ body: { webhookBizId: await webhookIn(place), description: 'theirs' } }),
  'webhooks.updatePlatform': async (place) => ({
    body: { webhookBizId: await platformWebhookIn(place), description: 'theirs' },
  }),
  'webhooks.rotateSecret': ofWebhook,
  'webhooks.rotatePlatformSecret': ofPlatform,
  'webhooks.disable': ofWebhook,
  'webhooks.disablePlatform': ofPlatform,
  'webhooks.delete': ofWebhook,
  'webhooks.deletePlatform': ofPlatform,
  'webhooks.test': ofWebhook,
  'webhooks.testPlatform': ofPlatform,
  'webhooks.enable': async (place) => {
    const input = await ofWebhook(place)
    await place.run(disableWebhook, input)
    return input
  },
  'webhooks.enablePlatform': async (place) => {
    const input = await ofPlatform(place)
    await place.run(disablePlatformWebhook, input)
    return input
  },
  'webhooks.resend': async (place) => {
    const { bizId } = await place.run(testWebhook, await ofWebhook(place))
    return { body: { deliveryBizId: bizId } }
  },
  'webhooks.resendPlatform': async (place) => {
    const { bizId } = await place.run(testPlatformWebhook, await ofPlatform(place))
    return { body: { deliveryBizId: bizId } }
  },
  'webhooks.replay': async (place) => ({
    body: { webhookBizId: await webhookIn(place), since: '2026-01-01T00:00:00Z' },
  }),
  'webhooks.replayPlatform': async (place) => ({
    body: { webhookBizId: await platformWebhookIn(place), since: '2026-01-01T00:00:00Z' },
  }),
}
