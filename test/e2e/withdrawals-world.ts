import { developmentIds } from '../../src/seed/development.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { type Adjust, startMoneyWorld } from './money-world.ts'

const { mainUsd } = developmentIds

export const mostChannels = 20

/** The money helpers plus withdrawal channels, and the available and held amounts. */
export const startWithdrawalsWorld = async (adjust?: Adjust) => {
  const world = await startMoneyWorld((settings) => {
    const { money } = settings
    money.withdrawal.maxChannelsPerWorkspace = mostChannels
    for (const payout of money.withdrawal.payouts)
      if (payout.currency === 'EUR') Object.assign(payout, { maxAmount: '50.00', dailyMax: '60.00' })
    adjust?.(settings)
  })
  const { web, system, data } = world
  const opened = (changed: object = {}) => data(web('POST', '/withdrawal-channels', payoutAccount(changed)))
  const verified = async (changed: object = {}): Promise<string> => {
    const { bizId } = await opened(changed)
    await data(system('POST', `/withdrawal-channels/${bizId}/verify`))
    return bizId
  }
  const [usd, eur] = [await verified(), await verified({ currency: 'EUR' })]
  const asked = (changed: object = {}) => ({
    walletBizId: mainUsd,
    withdrawalChannelBizId: usd,
    amount: '100.00',
    ...changed,
  })
  const made = (changed: object = {}) => data(web('POST', '/withdrawals', asked(changed)))
  const underWay = async (changed: object = {}) => {
    const { bizId } = await made(changed)
    return data(system('POST', `/withdrawals/${bizId}/approve`))
  }
  const balance = async (wallet: string = mainUsd) => {
    const { availableBalance, heldBalance } = await data(web('GET', `/wallets/${wallet}/balance`))
    return [Number(availableBalance), Number(heldBalance)]
  }
  const moved = async (work: () => Promise<unknown>, wallet: string = mainUsd) => {
    const [available = 0, held = 0] = await balance(wallet)
    await work()
    const [after = 0, heldAfter = 0] = await balance(wallet)
    return [Math.round((after - available) * 100) / 100, Math.round((heldAfter - held) * 100) / 100]
  }
  return { ...world, usd, eur, opened, verified, asked, made, underWay, balance, moved }
}

export type WithdrawalsWorld = Awaited<ReturnType<typeof startWithdrawalsWorld>>
