# ruff: noqa: E501 - tables
"""English synonyms, and words for parts of a wider subject."""

SYNONYMS = """
image picture photo photograph illustration
photo photography
draw sketch paint illustrate
drawing sketch painting illustration
video clip footage
movie film cinema
tv television
song track tune
audio sound voice
speech voice spoken
speak say pronounce
music melody
forecast prediction predict
temperature heat cold warm degrees
weather climate
price cost fee
cheap affordable inexpensive discount
buy purchase order shop shopping
sell vendor merchant
product item merchandise
store shop retailer
stock equity ticker
company business corporation firm enterprise organization
invest investment investor investing
money cash currency
crypto cryptocurrency bitcoin ethereum coin token
trade trading
profit earnings revenue income
loan mortgage credit
tax taxes taxation
insurance insurer
bank banking
pay payment
invoice bill receipt
trip travel journey vacation holiday tour itinerary
tourist tourism sightseeing attraction
hotel accommodation lodging hostel resort
flight airline airplane plane airfare
airport flight
train railway rail
car vehicle automobile auto
cab taxi ride
rent rental lease
apartment flat housing house home
property house realty estate
map location place address navigation geographic
nearby near around local closest nearest
route direction directions path way
distance far mileage
coordinates latitude longitude geocode
restaurant dining eatery
food meal dish cuisine
recipe cook cooking ingredient
eat meal diet nutrition
drink beverage
diet nutrition calorie calories
fitness workout exercise gym
doctor physician medical clinic
health healthcare medical
medicine drug medication pharmaceutical
disease illness condition symptom
therapy treatment
lawyer attorney legal law
law legal legislation regulation statute
court judge legal
job career employment vacancy hiring
resume cv
hire recruit candidate
course class lesson tutorial
learn study education learning
teach tutor teacher
school university college
student pupil learner
exam test quiz
book novel
author writer
article post blog
news headline headlines
newspaper news press
paper research academic scholarly study
scientist researcher
science scientific
poem poetry verse
story tale narrative fiction
quote quotation
joke humor funny laugh
sport sports athletic
football soccer
match game fixture
score result
team club squad
player athlete
league tournament competition championship
game gaming videogame
puzzle riddle
play playback
email mail inbox
message chat text sms
contact phone number
call phone dial
meeting appointment event
calendar schedule agenda
remind reminder alarm
task todo
note memo
remember memory recall
event concert show festival
ticket booking reservation
book reserve booking reservation
cancel revoke
date day
time clock hour
translate translation language
dictionary definition meaning
grammar proofread spelling
rewrite paraphrase rephrase reword
edit modify change update alter
summarize summary summarise abstract digest
write compose draft
copy duplicate
paste insert
text content
document doc file
file document folder
folder directory
directory folder path
archive zip compress
download fetch
save store write
delete remove erase clear
create make generate build produce
add insert append
move transfer
find search lookup discover
search find query
show display view list
get fetch retrieve obtain
list enumerate show
read open load view
check verify validate test inspect
compare comparison versus
diff compare
sort order arrange
filter select
count number total
convert transform
calculate compute calculation calculator
average mean
sum total add
math mathematics arithmetic
graph chart plot diagram
chart graph visualization plot
table spreadsheet
excel spreadsheet workbook
word document docx
slide presentation powerpoint ppt deck
presentation slides powerpoint ppt deck
pdf document
database sql table query
data dataset
statistic statistics stats
website site web page webpage
page webpage website
internet web online
url link address
browser browse web navigate
scrape crawl extract
screenshot capture
domain dns whois
ip address network
server host
security vulnerability threat
password credential
login signin logon
user account profile
account profile
code program programming script
developer programmer coding software
bug error issue
repository repo git github
commit git
deploy deployment
cluster kubernetes
run execute launch
execute run command
command shell terminal
install setup
app application
api endpoint
log logging
monitor track watch
track trace tracking follow
package parcel shipment
box crate carton
weigh weight heavy mass scales
delivery shipping ship courier
random generate
color colour
logo brand branding
design layout
font typeface
qr barcode
fashion clothes clothing apparel outfit wear style
shoes footwear sneakers
gift present
pet dog cat animal
animal wildlife
plant garden gardening
child kid kids children
friend social
tweet twitter
social media
follower subscribe subscriber
post publish
comment reply
review feedback
recommend recommendation suggest suggestion
popular trending top
trend trending trends
best top
latest recent newest new current
earthquake seismic quake
pollution air quality
hurricane storm
wind weather
rain weather precipitation
sun sunrise sunset solar
moon lunar
star astronomy planet
space nasa astronomy
horoscope astrology zodiac
religion religious spiritual prayer
bible scripture verse
charity donate donation nonprofit
government politics political congress
country nation
city town
population demographic
history historical
art artwork painting museum
museum gallery exhibition
celebrity actor actress
actor cast
episode season series
podcast episode
lyrics song
artist musician singer band
playlist songs
energy electricity
ev electric charging
fuel gas petrol gasoline
traffic congestion
parking park
domain website
seo keyword
advertisement ad ads advertising marketing
marketing promotion campaign
sale sales
startup company
competitor rival
"""
"""Synonyms, a group a line: each word expands to the first word, and the first word to each."""

TOPICS = """
weather forecast: rain raining snow sunny cloudy humidity wind storm temperature umbrella degrees celsius fahrenheit hot cold windy thunderstorm heatwave hike hiking picnic
finance financial: stock bitcoin ethereum crypto cryptocurrency nft invest investment portfolio dividend etf forex currency inflation earnings nasdaq trading blockchain token economy economic bank loan mortgage budget sec stocks ipo altcoin altcoins binance treasury wall
currency exchange money: dollar dollars euro euros pound pounds yen yuan rupee peso usd eur gbp forex
stock: nasdaq dividend ticker equity
crypto coin: bitcoin ethereum blockchain nft litecoin dogecoin wallet defi solana altcoin altcoins binance ripple
travel trip: hotel flight vacation tourist sightseeing itinerary airline airport attraction attractions destination accommodation visa passport luggage cruise beach backpacking holiday hostel resort
music: song album artist band playlist lyrics singer concert genre melody guitar piano spotify rap jazz hiphop
movie: film actor director cinema hollywood netflix trailer comedy thriller documentary
video: youtube movie film clip vlog footage episode
media tv: movie film series show netflix episode
book: novel author fiction biography reading literature bestseller
recipe food: cook cooking bake dinner lunch breakfast dessert ingredients dish meal cake soup vegetarian vegan pasta chicken
diet nutrition: calories calorie vitamins protein carbohydrates fat weight vegan keto meal healthy
restaurant: dining dinner lunch eat cuisine reservation sushi pizza
fitness exercise: workout gym muscle cardio yoga squats marathon stretching
health medical: doctor symptoms disease hospital pain medicine medication patient clinical cancer diabetes therapy
law legal: lawyer attorney court lawsuit regulation regulations legislation crime criminal divorce copyright lawmaker
job career: hiring salary interview resume employer recruiter internship employment
course education: learn tutorial degree certification curriculum lecture beginner skill skills curriculum teacher instructor
education learning: kids children school student homework
research academic: paper papers journal article thesis citation scientific study arxiv literature
news: headlines breaking politics current events election
sports: football basketball baseball soccer tennis hockey nba nfl nhl mlb team player league match tournament championship coach olympics cricket
game: play player puzzle chess rpg gaming xbox playstation nintendo steam trivia
map location: nearby distance directions route street address city restaurants shops park driving
house property: apartment condo rent buy bedroom mortgage realtor neighborhood listing
product shopping: buy purchase laptop smartphone phone shoes camera headphones price dress furniture gadget electronics brand store amazon tablet headset appliance sneakers appliances television
car vehicle: drive driving suv sedan dealership tesla ford toyota honda bmw mercedes audi
clothes fashion: shirt dress outfit shoes jeans jacket wear wardrobe tshirt hoodie apparel
gift: birthday anniversary christmas valentine
image: photo picture logo drawing photography visual illustration
chart: graph bar pie plot histogram diagram
code developer: python java javascript programming function algorithm debug software typescript rust compile script
repository github: code open source library commit branch pull
file: folder directory path rename copy move disk
document: pdf docx report word
email: inbox send reply subject recipient gmail outlook
calendar schedule: meeting appointment event reminder
language translate: english spanish french german chinese japanese korean italian russian arabic vocabulary pronunciation
math calculate: equation integral derivative algebra multiply divide percentage sum square root
astronomy space: planet moon star galaxy telescope nasa rocket satellite
art: painting museum sculpture artist gallery artwork
security: vulnerability malware hack hacker phishing password encryption firewall attack breach
database: sql mysql postgres sqlite table schema query
website web: html page domain url seo traffic blog browser
social media: twitter instagram facebook tiktok tweet followers influencer hashtag
container docker: image compose registry volume
kubernetes: pod cluster deployment namespace node
presentation slide: powerpoint pptx keynote
spreadsheet: excel xlsx csv column row cell
ticket event: concert show game theater festival comedy gig
charity: donate donation nonprofit volunteer
religion: bible quran prayer islam christian church hadith jesus
astrology: horoscope zodiac tarot
real estate: apartment house condo property
transport: bus train subway metro tram
government politics: congress senator lawmaker parliament president election vote policy minister
tax: irs deduction refund
air quality: pollution smog aqi
earthquake: seismic tremor magnitude richter
writing: essay story poem novel copy blog letter
memory: remember flashcards recall notes
psychology: mental anxiety stress mood
company: startup corporation competitor competitors employee employees ceo headquarters
marketing: advertising campaign seo audience
"""
"""Topics, a group a line: wider words, then narrower words; each narrower word expands to the wider words."""

FILE_KINDS = """
docx doc: word document file
xlsx xls: excel spreadsheet workbook file
pptx ppt: powerpoint presentation slide file
pdf: document file
csv tsv: spreadsheet table file
md markdown: markdown file
txt log: text file
json yaml yml xml toml: data file
py js ts java cpp rs go sh ipynb: code script file
png jpg jpeg gif svg webp bmp: image picture file
mp3 wav flac ogg m4a: audio music sound file
mp4 mov avi mkv webm: video file
zip tar gz rar: archive compress file
html htm: web page file
db sqlite: database file
"""
"""File kinds, a kind a line: file name endings, then words for such files."""
