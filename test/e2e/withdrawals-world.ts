import { developmentIds } from '../../src/seed/development.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { type Adjust, startMoneyWorld } from './money-world.ts'

const { mainUsd } = developmentIds

export const maxChannels = 20

export async function startWithdrawalsWorld(adjust?: Adjust) {
  const world = await startMoneyWorld((settings) => {
    const { money } = settings
    money.withdrawal.maxChannelsPerWorkspace = maxChannels
    for (const payout of money.withdrawal.payouts)
      if (payout.currency === 'EUR') Object.assign(payout, { maxAmount: '50.00', dailyMax: '60.00' })
    adjust?.(settings)
  })
  const { web, system, data } = world
  const createChannel = (changed: object = {}) => data(web('POST', '/withdrawal-channels', payoutAccount(changed)))
  const createVerifiedChannel = async (changed: object = {}): Promise<string> => {
    const { bizId } = await createChannel(changed)
    await data(system('POST', `/withdrawal-channels/${bizId}/verify`))
    return bizId
  }
  const [usd, eur] = [await createVerifiedChannel(), await createVerifiedChannel({ currency: 'EUR' })]
  const orderOf = (changed: object = {}) => ({
    walletBizId: mainUsd,
    withdrawalChannelBizId: usd,
    amount: '100.00',
    ...changed,
  })
  const create = (changed: object = {}) => data(web('POST', '/withdrawals', orderOf(changed)))
  const createApproved = async (changed: object = {}) => {
    const { bizId } = await create(changed)
    return data(system('POST', `/withdrawals/${bizId}/approve`))
  }
  const balance = async (wallet: string = mainUsd) => {
    const { availableBalance, heldBalance } = await data(web('GET', `/wallets/${wallet}/balance`))
    return [Number(availableBalance), Number(heldBalance)]
  }
  const balanceChange = async (work: () => Promise<unknown>, wallet: string = mainUsd) => {
    const [available = 0, held = 0] = await balance(wallet)
    await work()
    const [after = 0, heldAfter = 0] = await balance(wallet)
    return [Math.round((after - available) * 100) / 100, Math.round((heldAfter - held) * 100) / 100]
  }
  return {
    ...world,
    usd,
    eur,
    createChannel,
    createVerifiedChannel,
    orderOf,
    create,
    createApproved,
    balance,
    balanceChange,
  }
}

export type WithdrawalsWorld = Awaited<ReturnType<typeof startWithdrawalsWorld>>
