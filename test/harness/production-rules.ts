import { loadSettings, productionKey, root, type WholeSettings } from './settings.ts'

/** Gives development settings the rules against theft and fraud of production's defaults. */
export function applyProductionRules(settings: WholeSettings): void {
  const { access, mfa, money, passwords, portals } = loadSettings({
    PORTICO_CONFIG: `${root}/test/harness/production.yaml`,
    PORTICO_SECRET_KEY: productionKey,
    DATABASE_URL: 'postgres://db.example/portico?sslmode=verify-full',
    SMTP_URL: 'smtps://mail.example',
  })
  settings.access = access
  settings.mfa = mfa
  settings.passwords = passwords
  settings.money = {
    ...settings.money,
    stepUpAbove: money.stepUpAbove,
    separationOfDuties: money.separationOfDuties,
    exchange: { ...settings.money.exchange, band: money.exchange.band },
    recharge: { ...settings.money.recharge, referenceRequired: money.recharge.referenceRequired },
  }
  settings.portals.CONSUMER.mfa = portals.CONSUMER.mfa
  settings.portals.SYSTEM.mfa = portals.SYSTEM.mfa
}
