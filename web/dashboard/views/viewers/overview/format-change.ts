const percent = new Intl.NumberFormat(undefined, {
  style: 'percent',
  maximumFractionDigits: 0,
  signDisplay: 'exceptZero',
})

/** 0.5 as "+50 %". */
export const formatChange = (change: number) => percent.format(change)
