"""Correct answers with a low F1, and the category of section 4.2 that each belongs to.

Made by hand for these tests; those of PAPER are the section's own examples. HELD_OUT was written
together with CASES before the rules, and no rule was changed for its sake. MENDED was written after
the rules, which had 24 of its 35 right; then they were fixed. UNSEEN was written after that, and
the rules are left as they were.
"""

from __future__ import annotations

from typing import NamedTuple

MULTI = "semantic_equivalence/multinominal_entities"
MORE = "semantic_equivalence/more_elaborate_answers"
SYNONYM = "semantic_equivalence/synonymous_answers"
SYMBOLIC = "symbolic_equivalence"
AMBIGUOUS = "intrinsic_ambiguity"
TEMPORAL = "granularity/temporal"
SPATIAL = "granularity/spatial"
NAMES = "incomplete_reference/list_of_named_entities"
OPEN = "incomplete_reference/open_ended_questions"
ENUMERATION = "enumeration_of_references"
SUBSET = "satisfactory_subset"
NONE = "none"


class Case(NamedTuple):
    """A question, its references, a correct response, and its category."""

    question: str
    references: tuple[str, ...]
    response: str
    category: str


def _case(category: str, question: str, references: str, response: str) -> Case:
    return Case(question, tuple(references.split(" | ")), response, category)


PAPER = [
    _case(MULTI, "Who was shot in Dallas in 1963?", "John Kennedy", "John F Kennedy"),
    _case(MORE, "Is he in the band?", "yes", "yes, he is member of the band"),
    _case(SYNONYM, "What is her nationality?", "from India", "Indian nationality"),
    _case(SYMBOLIC, "How long did the series run?", "four seasons", "4 seasons"),
    _case(
        AMBIGUOUS, "Who won NFL football coach of the year?", "Ron Rivera", "Sean McVay of the Rams"
    ),
    _case(TEMPORAL, "When was the film first shown?", "August 25, 1939", "1939"),
    _case(SPATIAL, "Where was the show filmed?", "Vancouver", "British Columbia, Canada"),
    _case(
        OPEN,
        "what was the watergate scandal?",
        "It was an array of clandestine and often illegal activities undertaken by members of the "
        "Nixon administration.",
        "The Watergate scandal was a political scandal in the United States involving the "
        "administration of U.S. President Richard Nixon from 1972 to 1974 that led to Nixon's "
        "resignation.",
    ),
    _case(ENUMERATION, "All states in north-east USA", "Vermont | Maine", "Vermont and Maine"),
    _case(
        MORE,
        "At what theater is the composer and lyricist for the musical Big Fish a residential "
        "artist?",
        "Ars Nova Theater",
        "The composer and lyricist for the musical Big Fish, Andrew Lippa, is a residential artist "
        "at the Ars Nova Theater in New York City.",
    ),
]

HELD_OUT = [
    _case(
        MORE,
        "who composed the music for the film Jaws",
        "John Williams",
        "The score of Jaws was composed by John Williams, who won an Academy Award for it.",
    ),
    _case(
        MORE,
        "is the Danube longer than the Rhine",
        "yes",
        "Yes, the Danube is about 2,850 km long while the Rhine is only 1,230 km.",
    ),
    _case(
        MORE,
        "what is the capital of Mongolia",
        "Ulaanbaatar",
        "The capital and largest city of Mongolia is Ulaanbaatar, which lies in the Tuul valley.",
    ),
    _case(
        MORE,
        "which element has atomic number 79",
        "gold",
        "The element with the atomic number 79 is gold, a soft yellow metal prized since "
        "antiquity.",
    ),
    _case(
        MORE,
        "was the bridge rebuilt",
        "no",
        "No, it was never rebuilt after the flood of 1931 and only two pillars remain.",
    ),
    _case(
        MORE,
        "what do pandas mainly eat",
        "bamboo",
        "Giant pandas feed almost wholly on bamboo, eating up to 38 kilograms of it a day.",
    ),
    _case(
        MORE,
        "who was the first woman in space",
        "Valentina Tereshkova",
        "The first woman to fly in space was the Soviet cosmonaut Valentina Tereshkova aboard "
        "Vostok 6 in June 1963.",
    ),
    _case(
        MORE,
        "how many strings does a violin have",
        "4",
        "A violin usually has 4 strings, tuned in perfect fifths: G, D, A and E.",
    ),
    _case(
        MULTI,
        "who wrote the Narnia books",
        "Clive Staples Lewis",
        "The Chronicles of Narnia were written by the British author C. S. Lewis between 1949 and "
        "1954.",
    ),
    _case(
        MULTI,
        "which agency runs the Hubble telescope",
        "National Aeronautics and Space Administration",
        "The telescope is operated by NASA together with its European partner.",
    ),
    _case(
        MULTI,
        "who painted Guernica",
        "Pablo Ruiz Picasso",
        "It was painted by Picasso in 1937 as a response to the bombing of the town.",
    ),
    _case(
        MULTI,
        "who is the lead singer of the group",
        "Bob Marley",
        "The band's singer and songwriter was Robert Nesta Marley, born in Jamaica in 1945.",
    ),
    _case(
        MULTI,
        "who was president during the war",
        "Franklin Roosevelt",
        "The office was held at the time by Franklin D. Roosevelt, who died in April 1945.",
    ),
    _case(SYNONYM, "what nationality is the singer", "from Sweden", "Swedish"),
    _case(SYNONYM, "what caused his death", "heart attack", "a myocardial infarction"),
    _case(SYNONYM, "what does he do for a living", "physician", "He works as a doctor"),
    _case(SYNONYM, "what colour is the upper stripe of the flag", "crimson", "deep red"),
    _case(SYNONYM, "what is the insect known for", "bioluminescence", "glowing in the dark"),
    _case(
        SYMBOLIC,
        "how many moons does Mars have",
        "two",
        "Mars is orbited by 2 small moons, Phobos and Deimos.",
    ),
    _case(
        SYMBOLIC,
        "how many people live in the city",
        "1.5 million",
        "Some 1,500,000 people were living in the city at the last count.",
    ),
    _case(
        SYMBOLIC,
        "when was the treaty signed",
        "3 September 1783",
        "It was signed on 1783-09-03 by the delegates in Paris.",
    ),
    _case(
        SYMBOLIC,
        "what share of the surface of the earth is water",
        "71 percent",
        "About 71% of the surface of the planet is covered by seas and lakes.",
    ),
    _case(
        SYMBOLIC,
        "how long is the school year",
        "thirty-six weeks",
        "It lasts 36 weeks, split into four quarters.",
    ),
    _case(
        AMBIGUOUS,
        "who is the current captain of the national cricket team",
        "Meg Lanning",
        "Alyssa Healy",
    ),
    _case(
        AMBIGUOUS,
        "when does the new season start",
        "October 1, 2017",
        "The next season starts on September 28, 2018.",
    ),
    _case(AMBIGUOUS, "who won the ballon d'or", "Luka Modric", "Lionel Messi"),
    _case(
        AMBIGUOUS,
        "what is the population of the town",
        "8,175,133",
        "It has 8,336,817 inhabitants according to the newest estimate.",
    ),
    _case(TEMPORAL, "when did the singer die", "June 25, 2009", "He died in 2009."),
    _case(
        TEMPORAL,
        "when was the stadium opened",
        "1923",
        "The stadium was opened on April 18, 1923 before a crowd of 74,000.",
    ),
    _case(TEMPORAL, "when was the castle built", "1248", "It was built in the 13th century."),
    _case(TEMPORAL, "when did the war end", "May 1945", "The war in Europe ended on 8 May 1945."),
    _case(
        SPATIAL,
        "where was the physicist born",
        "Ulm",
        "He was born in the Kingdom of Württemberg, Germany.",
    ),
    _case(
        SPATIAL,
        "where is the festival held",
        "Nevada",
        "The festival takes place in Black Rock City, Nevada.",
    ),
    _case(
        SPATIAL,
        "where is the headquarters of the company",
        "Redmond, Washington",
        "in the United States",
    ),
    _case(
        SPATIAL,
        "where did the plane crash",
        "the French Alps",
        "near Prads-Haute-Bléone in Provence",
    ),
    _case(
        NAMES,
        "who are the members of the band",
        "Ringo Starr",
        "The members were John Lennon, Paul McCartney, George Harrison and Ringo Starr.",
    ),
    _case(
        NAMES,
        "name some films by the director",
        "Jaws",
        "His films include E.T., Jurassic Park, Lincoln and Munich.",
    ),
    _case(
        NAMES,
        "what songs are on the album",
        "Come Together",
        "The album has Something, Octopus's Garden and Here Comes the Sun.",
    ),
    _case(
        NAMES,
        "who else starred in the film",
        "Kate Winslet and Billy Zane",
        "Kathy Bates, Frances Fisher and Gloria Stuart were also in it.",
    ),
    _case(
        OPEN,
        "why did the empire fall",
        "Because of internal struggles for power, a weak economy and pressure from peoples at its "
        "borders.",
        "It declined after repeated invasions, overspending and political instability.",
    ),
    _case(
        OPEN,
        "what is photosynthesis",
        "The process by which green plants use sunlight to make food from carbon dioxide and water",
        "Photosynthesis is how plants turn light into chemical energy that they store as sugar.",
    ),
    _case(
        OPEN,
        "how did the dinosaurs die out",
        "An asteroid struck the planet and changed the climate",
        "A large impact in Mexico threw dust into the air, which blocked the sun for years.",
    ),
    _case(
        OPEN,
        "what happened at the battle",
        "The rebels were defeated and their leader was captured",
        "The royal army won a clear victory and took thousands of prisoners.",
    ),
    _case(
        ENUMERATION,
        "which countries border Switzerland",
        "France | Germany | Italy | Austria",
        "Switzerland borders France, Germany, Austria and Italy.",
    ),
    _case(
        ENUMERATION,
        "who played the doctor",
        "Tom Baker | Peter Davison | Colin Baker",
        "The part was played by Tom Baker, later by Peter Davison, and then by others.",
    ),
    _case(
        ENUMERATION,
        "primary colours of light",
        "red | green | blue",
        "The primary colours of light are red, green and blue.",
    ),
    _case(
        SUBSET,
        "what songs did she record",
        "Halo, Crazy in Love, Irreplaceable, Formation, Single Ladies and Sorry",
        "Halo and Formation",
    ),
    _case(
        SUBSET,
        "what are symptoms of the illness",
        "fever, cough, headache, loss of smell, fatigue and sore throat",
        "fever and cough",
    ),
    _case(
        SUBSET,
        "which instruments does he play",
        "guitar, piano, drums, bass, banjo and mandolin",
        "He plays the piano.",
    ),
    _case(
        NONE,
        "what is the name of the ship",
        "Endeavour",
        "Several vessels in the passages may have been meant by this.",
    ),
]

CASES = [
    *PAPER,
    _case(
        MORE,
        "who directed Vertigo",
        "Alfred Hitchcock",
        "Vertigo, a thriller of 1958, was directed by Alfred Hitchcock for Paramount Pictures.",
    ),
    _case(
        MORE,
        "are tomatoes a fruit",
        "Yes",
        "Botanically speaking, yes: they grow from the flower of the plant and hold its seeds.",
    ),
    _case(
        MORE,
        "did the team win the cup",
        "no",
        "They did not win it; they lost the final to their neighbours after extra time.",
    ),
    _case(
        MORE,
        "what is the hardest natural material",
        "diamonds",
        "The hardest material that is found in nature is diamond, which is made of pure carbon.",
    ),
    _case(
        MORE,
        "how many players are on a rugby union team",
        "15",
        "Each rugby union team fields 15 players, eight of them forwards and seven backs.",
    ),
    _case(
        MORE,
        "when was the company founded",
        "1886",
        "The company was founded in 1886 by a pharmacist who sold the drink at a soda fountain.",
    ),
    _case(
        MORE,
        "in which city is the Louvre",
        "Paris",
        "The Louvre stands in Paris, France, on the right bank of the river.",
    ),
    _case(
        MULTI,
        "who sang the theme song",
        "Elton John",
        "It was performed by Sir Elton Hercules John, who also wrote the music.",
    ),
    _case(
        MULTI,
        "what organisation hosted the summit",
        "United Nations",
        "It was hosted by the UN at its main building in New York.",
    ),
    _case(
        MULTI,
        "who discovered the law",
        "Georg Simon Ohm",
        "Ohm found it in 1827 while he was teaching at a school in Cologne.",
    ),
    _case(
        MULTI,
        "who was the 42nd president",
        "William Jefferson Clinton",
        "The 42nd president was Bill Clinton, who served two full terms in office.",
    ),
    _case(
        MULTI,
        "who wrote Middlemarch",
        "George Eliot (Mary Ann Evans)",
        "The novel is by the English writer Mary Evans.",
    ),
    _case(
        SYMBOLIC,
        "how many legs does a spider have",
        "eight",
        "All spiders have 8 legs, which sets them apart from insects.",
    ),
    _case(
        SYMBOLIC,
        "what did the house cost",
        "$2.5 million",
        "It was sold for 2,500,000 dollars to an unnamed buyer.",
    ),
    _case(
        SYMBOLIC,
        "when does the law take effect",
        "2021-07-01",
        "The law comes into force on July 1, 2021 in all of the states.",
    ),
    _case(
        SYMBOLIC,
        "which world war is the film about",
        "World War 2",
        "The film is set in the last months of World War II.",
    ),
    _case(
        SYMBOLIC,
        "what share of voters agreed",
        "fifty percent",
        "Exactly 50% of those who voted were in favour of the plan.",
    ),
    _case(
        AMBIGUOUS,
        "who is the richest man in the world",
        "Jeff Bezos",
        "The richest man in the world is Bernard Arnault of France.",
    ),
    _case(
        AMBIGUOUS,
        "when is the next general election",
        "May 2, 2019",
        "The next general election will be on July 4, 2024.",
    ),
    _case(
        AMBIGUOUS,
        "how many episodes of the latest season are there",
        "13 episodes",
        "The latest season has 22.",
    ),
    _case(AMBIGUOUS, "who won the womens singles", "Simona Halep", "Ashleigh Barty"),
    _case(
        TEMPORAL,
        "when did the ship sink",
        "15 April 1912",
        "The ship sank in April 1912 after it had hit an iceberg.",
    ),
    _case(
        TEMPORAL,
        "when was the first telephone call made",
        "1876",
        "The first call was made on March 10, 1876 by the inventor to his helper.",
    ),
    _case(
        TEMPORAL,
        "when was the style popular",
        "1926",
        "The style was at its most popular in the 1920s.",
    ),
    _case(
        SPATIAL,
        "where does the river rise",
        "Black Forest",
        "The river rises in southern Germany.",
    ),
    _case(
        SPATIAL,
        "where was the painter born",
        "Spain",
        "He was born in Málaga, Andalusia, Spain.",
    ),
    _case(
        SPATIAL,
        "in what country is the tower",
        "Pisa, Italy",
        "The tower is in the region of Tuscany.",
    ),
    _case(
        NAMES,
        "who starred in the movie Heat",
        "Val Kilmer",
        "Al Pacino, Robert De Niro and Val Kilmer starred in Heat.",
    ),
    _case(
        NAMES,
        "what are some of his books",
        "Emma",
        "He wrote Red Hill, The Long Road and Winter in Prague.",
    ),
    _case(
        NAMES,
        "which actors play the brothers",
        "Jared Padalecki and Jensen Ackles",
        "The cast has Misha Collins, Mark Sheppard and Jim Beaver.",
    ),
    _case(
        OPEN,
        "why do leaves change colour in autumn",
        "The chlorophyll in them breaks down so that other pigments can be seen.",
        "Trees stop making green dye when days grow short, and yellow and red come to light.",
    ),
    _case(
        OPEN,
        "how does a vaccine work",
        "It trains the immune system to recognise a germ",
        "The body learns from a harmless piece of the virus what to fight later on.",
    ),
    _case(
        OPEN,
        "what is the book about",
        "A boy who finds out that he is a wizard",
        "An orphan goes to a school of magic and makes friends and foes there.",
    ),
    _case(
        OPEN,
        "tell me about the treaty",
        "It ended the war and set new borders for the states that took part",
        "The peace was agreed on in a palace and moved large pieces of land from one crown to "
        "another.",
    ),
    _case(
        ENUMERATION,
        "who won the gold medals",
        "Anna Berg | Lia Roth",
        "Anna Berg won the sprint and Lia Roth won the long jump on the last day.",
    ),
    _case(
        ENUMERATION,
        "what are the noble gases",
        "helium | neon | argon | krypton",
        "They are helium, neon, argon, krypton, xenon and radon.",
    ),
    _case(
        MORE,
        "what was the old name of the city",
        "Constantinople | city of Constantinople",
        "Before it was called Istanbul the city was known as Constantinople to the world.",
    ),
    _case(
        SUBSET,
        "what other songs are by the singer",
        "Hello, Skyfall, Someone Like You, Rumour Has It and Easy on Me",
        "Skyfall",
    ),
    _case(
        SUBSET,
        "what languages are spoken there",
        "German, French, Italian, Romansh; also English and Portuguese",
        "German and French",
    ),
    _case(SYNONYM, "what was his job", "attorney", "a lawyer"),
    _case(SYNONYM, "how does the story end", "happily", "with a happy ending"),
    _case(SYNONYM, "what kind of animal is it", "a feline", "big cat"),
    _case(SYNONYM, "did it sell well", "yes", "Indeed"),
    _case(NONE, "what is the name of the dog", "Rex", "..."),
]

MENDED = [
    _case(
        MORE,
        "who sings the song at the end of the show",
        "Nina Simone",
        "At the end of the show one hears Sinnerman, a song recorded by Nina Simone in 1965.",
    ),
    _case(
        MORE,
        "what type of rock is marble",
        "metamorphic rock",
        "Marble is metamorphic, since heat and pressure turn limestone into it deep in the earth.",
    ),
    _case(
        MORE,
        "when is the lantern festival in china",
        "the fifteenth day of the first month",
        "It falls on the fifteenth day of the first month of the Chinese calendar, in February or "
        "early March.",
    ),
    _case(
        MORE,
        "is glass a liquid",
        "No",
        "Glass is an amorphous solid, and the tale that old windows flow is not true.",
    ),
    _case(
        MORE,
        "where does the last supper hang",
        "Milan",
        "The painting is on a wall of the convent of Santa Maria delle Grazie in Milan, Italy.",
    ),
    _case(
        MORE,
        "who owned the mansion before the war",
        "the Harrow family",
        "Before the war the mansion belonged to the Harrow family, who had made money in shipping.",
    ),
    _case(
        MULTI,
        "which club did he join in 1998",
        "Manchester United Football Club",
        "In 1998 he moved to Man United for a fee of ten million.",
    ),
    _case(
        MULTI,
        "who founded the order",
        "St. Francis of Assisi",
        "The order goes back to Saint Francis, who was the son of a cloth merchant.",
    ),
    _case(
        MULTI,
        "what company made the console",
        "Sony Interactive Entertainment",
        "The console was developed and sold by Sony of Japan from 1994 on.",
    ),
    _case(
        MULTI,
        "who was the first wife of the king",
        "Catherine of Aragon",
        "Henry first married Katherine of Aragon, the widow of his brother Arthur.",
    ),
    _case(SYNONYM, "what was her cause of death", "drowned", "She died by drowning in the lake."),
    _case(SYNONYM, "how did the critics like it", "negatively", "It got bad reviews."),
    _case(SYNONYM, "what religion did he follow", "Buddhism", "He was a Buddhist."),
    _case(
        SYNONYM,
        "what is the function of the organ",
        "cleans the blood",
        "It filters waste out of it.",
    ),
    _case(
        SYMBOLIC,
        "how many seats does the hall have",
        "two thousand five hundred",
        "The hall can seat 2,500 people in the stalls and on three balconies.",
    ),
    _case(
        SYMBOLIC,
        "how tall is the statue",
        "3 km",
        "Counting the hill that it stands on it reaches 3,000 metres above the sea.",
    ),
    _case(
        SYMBOLIC,
        "who was the pope then",
        "Pius 12",
        "At that time the pope was Pius XII, who reigned until 1958.",
    ),
    _case(
        SYMBOLIC,
        "in what place did they finish",
        "3rd",
        "They finished the season in third place behind the two big clubs of the capital.",
    ),
    _case(
        AMBIGUOUS,
        "who plays batman in the movie",
        "Christian Bale",
        "Batman is played by Robert Pattinson in the film by Matt Reeves.",
    ),
    _case(
        AMBIGUOUS,
        "what is the highest grossing film of all time",
        "Avatar",
        "Gone with the Wind, if prices are adjusted.",
    ),
    _case(AMBIGUOUS, "how old is the queen", "91", "She is 94 years old."),
    _case(
        TEMPORAL,
        "when did the railway reach the town",
        "in the autumn of 1871",
        "The railway came to the town in 1871.",
    ),
    _case(
        TEMPORAL,
        "since when do they have the vote",
        "since the 19th century",
        "They have been allowed to vote since 1893.",
    ),
    _case(
        SPATIAL,
        "where did the expedition start from",
        "Norway",
        "The ship left from the harbour of Tromsø in June.",
    ),
    _case(
        SPATIAL,
        "from which part of the country does the cheese come",
        "Normandy",
        "It comes from the village of Camembert.",
    ),
    _case(
        NAMES,
        "who has hosted the show",
        "Ellen Price",
        "The hosts have been Tom Reed, Jane Moss, Ellen Price and, since 2019, Ali Khan.",
    ),
    _case(
        NAMES,
        "what are popular dishes there",
        "goulash",
        "Popular dishes include paprika chicken, stuffed cabbage and fish soup.",
    ),
    _case(
        OPEN,
        "what is the significance of the painting",
        "It marked the beginning of modern art in the country",
        "The painting broke with the rules of the academy and was copied by a whole generation.",
    ),
    _case(
        OPEN,
        "how was he received after he came home",
        "with parades and honours",
        "Crowds greeted him at the station and the mayor gave a speech in his praise.",
    ),
    _case(
        OPEN,
        "what did the reform change",
        "Farmers could own the land that they worked on",
        "Serfdom came to an end and nobles lost the right to judge their peasants.",
    ),
    _case(
        ENUMERATION,
        "what rivers flow through the city",
        "Allegheny River | Monongahela River | Ohio River",
        "The Allegheny and the Monongahela meet in the city and form the Ohio.",
    ),
    _case(
        ENUMERATION,
        "who wrote the song",
        "Ann Bell | Joe Stone",
        "It was written by Ann Bell together with her husband Joe Stone in 1974.",
    ),
    _case(
        SUBSET,
        "what awards did it win",
        "Best Picture, Best Director, Best Actor and Best Score",
        "Best Director",
    ),
    _case(
        SUBSET,
        "what else has he written",
        "novels, short stories, plays, essays, two operas",
        "plays and essays",
    ),
    _case(NONE, "what is the height of the tower", "324 metres", "The tower is very tall indeed."),
    # Another reference stands in the response as exactly as it is.
    _case(
        MORE,
        "When was the stadium opened?",
        "April 18, 1923 | 1923",
        "The stadium was opened to the public in 1923.",
    ),
    _case(
        MORE,
        "When was it first shown?",
        "1939 | August 25, 1939",
        "It was first shown on 25 August 1939 in Hollywood.",
    ),
    _case(MORE, "When did it begin?", "June 6, 1944 | D-Day", "It began with D-Day, in 1944."),
    _case(
        MORE,
        "When was it founded?",
        "the 1930s | 1936",
        "It was founded by two brothers in 1936.",
    ),
    _case(
        MORE,
        "Where was it filmed?",
        "Vancouver, British Columbia | British Columbia",
        "It was filmed mostly in British Columbia in the winter.",
    ),
    _case(
        MORE,
        "Where is the tower?",
        "Umber | Senn, Umber",
        "The tower stands in Senn, Umber, near the lake.",
    ),
    # The year stands there as a part of a date that says more: no reference does.
    _case(
        TEMPORAL,
        "When was the film first shown?",
        "1939 | August 1939",
        "It was shown on August 25, 1939.",
    ),
    _case(SPATIAL, "Where is it?", "British Columbia", "It is in Vancouver, British Columbia."),
]

UNSEEN = [
    _case(
        MORE,
        "who has the right of way at a roundabout",
        "traffic already in the circle",
        "Drivers who want to enter must give way to traffic already in the circle, which comes "
        "from the left.",
    ),
    _case(
        MORE,
        "what was the ship's cargo",
        "tea",
        "When it ran aground the clipper was carrying tea from Fuzhou to London.",
    ),
    _case(
        MORE,
        "can penguins fly",
        "no",
        "Penguins are birds, but their wings have become flippers that cannot lift them.",
    ),
    _case(
        MORE,
        "Which magazine was started first, Arthur's Bulletin or First for Ladies?",
        "Arthur's Bulletin",
        "Arthur's Bulletin came out in 1844, so it was started long before First for Ladies.",
    ),
    _case(
        MORE,
        "what bone is broken in a hangman's fracture",
        "axis",
        "A hangman's fracture breaks the second vertebra of the neck, known as the axis.",
    ),
    _case(
        MORE,
        "what year did the theatre burn down",
        "1896",
        "The theatre burnt down in the night of the carnival in 1896 and was never rebuilt.",
    ),
    _case(
        MULTI,
        "who was the general's adversary",
        "Napoleon Bonaparte",
        "On the other side stood the Emperor Napoleon, who had come back from Elba.",
    ),
    _case(
        MULTI,
        "which university did she attend",
        "Massachusetts Institute of Technology",
        "She took a degree in physics at MIT before she went to work for the government.",
    ),
    _case(
        MULTI,
        "what country bought the submarines",
        "USA",
        "They were sold to the United States of America for a sum that was never made public.",
    ),
    _case(
        MULTI,
        "who won the duel",
        "Alexander Pushkin's brother-in-law Georges d'Anthès",
        "D'Anthès survived it with a light wound to the arm.",
    ),
    _case(SYNONYM, "how do they reproduce", "asexually", "By asexual reproduction."),
    _case(SYNONYM, "what was the verdict", "not guilty", "He was acquitted."),
    _case(SYNONYM, "what is his faith", "Catholicism", "He is a Catholic."),
    _case(SYNONYM, "how is the drink served", "chilled", "cold"),
    _case(
        SYMBOLIC,
        "how far is the village from the coast",
        "5 km",
        "The village lies 5,000 metres inland, behind a range of low dunes.",
    ),
    _case(
        SYMBOLIC,
        "how many children did they have",
        "7",
        "The couple raised seven sons and daughters on the farm.",
    ),
    _case(
        SYMBOLIC,
        "what fraction of the votes is needed",
        "two thirds",
        "At least 66.7% of all the votes that were cast must be in favour.",
    ),
    _case(
        SYMBOLIC,
        "when did the shop open",
        "9:00 am",
        "The shop opened its doors at nine o'clock in the morning.",
    ),
    _case(
        AMBIGUOUS,
        "who is the mayor of the city",
        "Anne Hall",
        "The mayor has been Peter Lund since the last election.",
    ),
    _case(
        AMBIGUOUS,
        "when was the last time they made the playoffs",
        "2016",
        "They last made the playoffs in 2021.",
    ),
    _case(
        AMBIGUOUS,
        "what is the capital of the kingdom",
        "Turin",
        "From 1865 the capital was Florence.",
    ),
    _case(
        TEMPORAL,
        "when was the manuscript found",
        "the 1940s",
        "Shepherds came upon it in a cave in the winter of 1947.",
    ),
    _case(
        TEMPORAL,
        "when did the comet pass",
        "January 3",
        "The comet passed by in January.",
    ),
    _case(
        TEMPORAL,
        "when was he crowned",
        "Christmas Day, 800",
        "The pope crowned him in the year 800.",
    ),
    _case(
        SPATIAL,
        "where do they live now",
        "Brooklyn",
        "They have lived in New York since their wedding.",
    ),
    _case(
        SPATIAL,
        "where is the mine",
        "Western Australia",
        "near the town of Kalgoorlie",
    ),
    _case(
        NAMES,
        "who are the judges on the show",
        "Mary Lane",
        "Paul Wood and Prue Lord have been the judges since 2017.",
    ),
    _case(
        NAMES,
        "what other cities did she live in",
        "Leeds",
        "York, Hull and Bath",
    ),
    _case(
        OPEN,
        "what effect did the tax have",
        "People bricked up their windows so as to pay less",
        "Many houses grew darker, and doctors complained that the poor had no fresh air.",
    ),
    _case(
        OPEN,
        "why was the station closed",
        "there were too few passengers",
        "The line had lost money for years and the owner wanted to sell the ground.",
    ),
    _case(
        ENUMERATION,
        "what are the official languages",
        "Dutch | French | German",
        "The country has three: Dutch in the north, French in the south, and German in the east.",
    ),
    _case(
        ENUMERATION,
        "which years did they win the title",
        "1998 | 2004 | 2011",
        "They won it in 1998 and in 2011.",
    ),
    _case(
        SUBSET,
        "who are his children",
        "Ruth, Saul, Miriam, Aaron and Leah",
        "Ruth and Saul",
    ),
    _case(
        SUBSET,
        "what does the stew contain",
        "beef, onions, carrots, stout, thyme and bay leaves",
        "mostly beef and onions",
    ),
    _case(NONE, "who is the author", "Ivo Brandt", "It is a long novel about a family of bakers."),
]
