import { isPorticoError } from 'portal-client'
import { type ReactNode, useState } from 'react'
import { refreshData } from '../../../kit/app.tsx'
import { Form, type Values } from '../../../kit/forms.tsx'
import { t } from '../../../kit/i18n.ts'
import { Section } from '../../../kit/page.tsx'
import { notify } from '../../../kit/toasts.tsx'
import type { Objection } from './four-eyes.ts'

export interface Choice {
  id: string
  label: string
  /** What the decision does. */
  effect: string
  /** The notice afterwards. */
  done: string
  tone?: 'danger'
  objections: readonly Objection[]
  fields?: ReactNode
  run(values: Values): Promise<unknown>
}

/** The decisions that the status allows. Those that the gateway would refuse are disabled, with the reasons. */
export function Decide({ choices }: { choices: readonly Choice[] }) {
  const [chosenId, choose] = useState<string | null>(null)
  const [isDenied, setDenied] = useState(false)
  const chosen = choices.find(({ id }) => id === chosenId)
  const common = commonObjections(choices)
  const decide = async ({ run, done }: Choice, values: Values): Promise<void> => {
    setDenied(false)
    try {
      await run(values)
    } catch (error) {
      setDenied(isPorticoError(error, 'ACCESS.PERMISSION_DENIED'))
      throw error
    }
    choose(null)
    notify(done)
    await refreshData()
  }
  return (
    <Section title={t('queues.decision')}>
      {choices.length === 0 && <p className="hint">{t('queues.nothingToDecide')}</p>}
      {choices.length > 0 && (
        <fieldset className="queues-choices">
          <legend>{t('queues.yourDecision')}</legend>
          <Objections id="objections" objections={common} />
          {choices.map((choice) => (
            <Option
              key={choice.id}
              choice={choice}
              common={common}
              isChosen={choice === chosen}
              onChoose={() => {
                choose(choice.id)
                setDenied(false)
              }}
            />
          ))}
        </fieldset>
      )}
      {chosen && (
        <Form
          key={chosen.id}
          submit={chosen.label}
          {...(chosen.tone && { tone: chosen.tone })}
          onSubmit={(values) => decide(chosen, values)}
        >
          <p>{chosen.effect}</p>
          {chosen.fields}
        </Form>
      )}
      {isDenied && (
        <p className="notice" role="status">
          {t('queues.deniedByDuties')}
        </p>
      )}
    </Section>
  )
}

interface OptionProps {
  choice: Choice
  /** Shown above the choices. */
  common: readonly Objection[]
  isChosen: boolean
  onChoose(): void
}

function Option({ choice: { id, label, objections }, common, isChosen, onChoose }: OptionProps) {
  const own = objections.filter(({ text }) => !common.some((each) => each.text === text))
  return (
    <div className="queues-choice">
      <label className="check">
        <input
          type="radio"
          name="decision"
          value={id}
          checked={isChosen}
          disabled={objections.some(({ isCertain }) => isCertain)}
          aria-describedby={`objections objections-${id}`}
          onChange={onChoose}
        />
        <span>{label}</span>
      </label>
      <Objections id={`objections-${id}`} objections={own} />
    </div>
  )
}

function Objections({ id, objections }: { id: string; objections: readonly Objection[] }) {
  if (objections.length === 0) return null
  return (
    <ul id={id} className="queues-objections">
      {objections.map(({ text }) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  )
}

/** Those of every choice, which need to be read only once. */
function commonObjections([first, ...others]: readonly Choice[]): Objection[] {
  if (!first || others.length === 0) return []
  return first.objections.filter(({ text }) =>
    others.every(({ objections }) => objections.some((each) => each.text === text)),
  )
}
