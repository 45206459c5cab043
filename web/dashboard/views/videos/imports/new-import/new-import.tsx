import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { createImport, importsQuery } from '../../../../api/imports.ts'
import { ApiProblem } from '../../../../api/problem.ts'
import { useEnvironment } from '../../../../app/environment.ts'
import { importMessages } from '../../../../messages/imports.ts'
import { Button } from '../../../../ui/button.tsx'
import { SelectField, TextArea, TextField } from '../../../../ui/field.tsx'
import { Form } from '../../../../ui/form.tsx'
import { Panel } from '../../../../ui/panel.tsx'
import { ErrorText } from '../../../../ui/states.tsx'
import { findService, type RemoteService, services } from '../services.ts'
import { emptyForm, type ImportForm, readForm } from './import-form.ts'
import styles from './new-import.module.css'
import { OptionFields } from './option-fields.tsx'
import { PartFields } from './part-fields.tsx'

/** Asks for a service and what to carry over, and opens the preview. */
export function NewImport() {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  const [form, setForm] = useState<ImportForm>(() => emptyForm('kinora'))
  const change = (values: Partial<ImportForm>) => setForm((before) => ({ ...before, ...values }))
  const create = useMutation({
    mutationFn: () => createImport(environment, readForm(form)),
    onSuccess: ({ importId }) => {
      void client.invalidateQueries(importsQuery(environment))
      void navigate({ to: '/$environment/videos/imports/$importId', params: { environment, importId } })
    },
  })
  const service = findService(form.service)
  const problems = create.error instanceof ApiProblem ? create.error.fields : {}
  const isShown = (name: string) => name === 'list' || service.fields.some((field) => field.name === name)
  const t = importMessages.new
  return (
    <Panel title={t.title}>
      <Form onSubmit={() => !create.isPending && create.mutate()}>
        <SelectField
          label={t.service}
          value={form.service}
          hint={importMessages.serviceHints[form.service]}
          onChange={(event) => {
            // A key must not be sent to another service.
            setForm(emptyForm(event.target.value as RemoteService))
            create.reset()
          }}
        >
          {services.map(({ name }) => (
            <option key={name} value={name}>
              {importMessages.services[name]}
            </option>
          ))}
        </SelectField>
        {service.fields.length > 0 && (
          <div className={styles.fields} key={form.service}>
            {service.fields.map(({ name, label, type = 'text', placeholder, hint, isOptional }) => (
              <TextField
                key={name}
                type={type}
                label={label}
                required={!isOptional}
                placeholder={placeholder}
                hint={hint}
                autoComplete="off"
                spellCheck={false}
                value={form[name]}
                error={problems[name]}
                onChange={(event) => change({ [name]: event.target.value })}
              />
            ))}
          </div>
        )}
        {form.service === 'urls' && (
          <TextArea
            label={importMessages.fields.list}
            required
            rows={6}
            spellCheck={false}
            value={form.list}
            error={Object.entries(problems).find(([name]) => name.startsWith('list'))?.[1]}
            onChange={(event) => change({ list: event.target.value })}
          />
        )}
        <PartFields service={service} form={form} onChange={change} />
        <OptionFields service={service} form={form} problems={problems} onChange={change} />
        {create.error && !Object.keys(problems).some((name) => isShown(name.split('[')[0]!)) && (
          <ErrorText error={create.error} />
        )}
        <div className={styles.submit}>
          <Button type="submit" variant="primary" icon="eye" aria-disabled={create.isPending}>
            {t.preview}
          </Button>
          <span className="secondary">{t.previewHint}</span>
        </div>
      </Form>
    </Panel>
  )
}
